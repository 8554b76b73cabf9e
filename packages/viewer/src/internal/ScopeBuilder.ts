/** Collects what the redaction of a session depends on: its paths, and texts that name machines. */
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { usersOf } from "@pi-sessions/redaction/PersonalNames"
import { type RedactionScope, type Redactor } from "@pi-sessions/redaction/Redactor"
import { stringsOf } from "./redactedPayload.ts"

/** Machines are named in shell prompts such as `user@host`; only lines with a known user before `@` are decoded. */
export class ScopeBuilder {
  readonly #redactor: Redactor | undefined
  readonly #paths: Array<string>
  readonly #texts: Array<string> = []
  /** `user@` for each user in the paths. */
  #needles: ReadonlyArray<string> = []

  constructor(ref: CatalogSession, redactor: Redactor | undefined) {
    this.#redactor = redactor
    this.#paths = [ref.path, ref.cwd, ref.parentSession ?? ""]
  }

  header(header: JsonObject): void {
    this.#paths.push(stringAt(header, "cwd") ?? "", stringAt(header, "parentSession") ?? "")
    this.#needles = (this.#redactor === undefined ? [] : usersOf(this.#paths)).map((user) => `${user}@`)
  }

  push(entry: SessionEntry): void {
    if (this.#needles.length === 0) return
    const { source, start, end } = entry
    const bytes = Buffer.from(source.buffer, source.byteOffset + start, end - start)
    if (!this.#needles.some((needle) => bytes.includes(needle))) return
    for (const text of stringsOf(entry.decode())) {
      if (this.#needles.some((needle) => text.includes(needle))) this.#texts.push(text)
    }
  }

  /** Call after the header and all entries. */
  scope(): RedactionScope | undefined {
    return this.#redactor?.scope(this.#paths, this.#texts)
  }
}
