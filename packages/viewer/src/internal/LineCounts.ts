/** Counts tokens, tools, roles, models and days in the lines of a dataset. */
import { type Json, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { estimate } from "@pi-sessions/samples/TokenCount"

/** Add lines with `push`. */
export class LineCounts {
  /** Estimated, of each line. */
  readonly tokens: Array<number> = []
  readonly tools = new Map<string, number>()
  readonly roles = new Map<string, number>()
  readonly models = new Map<string, number>()
  readonly days = new Map<string, number>()
  /** Lines that are not JSON. */
  broken = 0

  push(line: string): void {
    this.tokens.push(estimate(line))
    let value: Json
    try {
      value = JSON.parse(line)
    } catch {
      this.broken++
      return
    }
    if (!isObject(value)) return
    const metadata = objectAt(value, "metadata") ?? {}
    const count = (counts: Map<string, number>, name: string | undefined): void => {
      if (name !== undefined && name !== "") counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    count(this.roles, stringAt(metadata, "role"))
    count(this.models, stringAt(metadata, "model"))
    count(this.days, /^\d{4}-\d{2}-\d{2}/u.exec(stringAt(metadata, "timestamp") ?? "")?.[0])
    for (const name of calledIn(value)) count(this.tools, name)
  }
}

/** Names of the tools that a sample calls, in any format. */
function* calledIn(value: Json): Generator<string> {
  const pending: Array<Json> = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (isArray(next)) for (const one of next) pending.push(one)
    if (!isObject(next)) continue
    for (const [key, member] of Object.entries(next)) {
      // Skips the declarations of tools.
      if (member === undefined || key === "tools" || key === "metadata") continue
      if (key === "tool_calls" && isArray(member)) for (const call of member) yield* nameIn(call)
      else if (isArray(member) || isObject(member)) pending.push(member)
    }
  }
}

function* nameIn(call: Json): Generator<string> {
  if (!isObject(call)) return
  const name = stringAt(objectAt(call, "function") ?? call, "name")
  if (name !== undefined) yield name
}
