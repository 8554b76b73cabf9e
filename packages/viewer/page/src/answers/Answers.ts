/** Where the page has its answers from: the server that gave it out, or the very file that it stands in. */
import type * as ViewModel from "../../../src/ViewModel.ts"

export interface Answers {
  /** Asks for what stands at an address below `api/`. */
  readonly get: <A>(address: string) => Promise<A>
  /** Undefined where no marks can be made. */
  readonly mark: ((request: ViewModel.MarkRequest) => Promise<ViewModel.Marks>) | undefined
  /** Whether all there is, is in this file. */
  readonly isFile: boolean
}

const messageOf = async (response: Response): Promise<string> => {
  const text = await response.text()
  try {
    const body: { readonly message?: unknown } = JSON.parse(text)
    if (typeof body.message === "string") return body.message
  } catch {
    // A refusal of the server's own is plain text.
  }
  return text.trim() === "" ? `the server answered ${response.status}` : text.trim()
}

const ask = async (address: string, request: RequestInit = {}) => {
  const response = await fetch(`api/${address}`, { ...request, cache: "no-store", credentials: "omit" }).catch(
    () => undefined
  )
  if (response === undefined) throw new Error("the server has ended; start pi-sessions view again")
  if (!response.ok) throw new Error(await messageOf(response))
  return response
}

const served: Answers = {
  get: async (address) => (await ask(address)).json(),
  mark: async (request) =>
    (
      await ask("marks", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request)
      })
    ).json(),
  isFile: false
}

/** Entries stand by their number in a file; whoever asks for ranges of them gets them from there. */
const inFile = (text: string): Answers => {
  const answers = new Map<string, unknown>(Object.entries(JSON.parse(text)))
  const entries = (key: string, ranges: string): ReadonlyArray<unknown> =>
    ranges.split(",").flatMap((range) => {
      const [first = 0, count = 0] = range.split("-").map(Number)
      const all = answers.get(`sessions/${key}/entries`)
      return Array.isArray(all) ? all.slice(first, first + count) : []
    })
  const rows = (address: string, from: number, count: number): unknown => {
    const page = answers.get(address)
    if (typeof page !== "object" || page === null || !("rows" in page) || !Array.isArray(page.rows)) return undefined
    return { ...page, rows: page.rows.slice(from, from + count) }
  }
  const find = (address: string): unknown => {
    const url = new URL(address, "file:///")
    const [kind, key = "", what] = url.pathname.slice(1).split("/")
    const given = url.searchParams
    if (kind === "summaries") {
      const all = answers.get("summaries")
      const keys = new Set((given.get("keys") ?? "").split(","))
      return Array.isArray(all) ? all.filter((one: ViewModel.SessionSummary) => keys.has(one.key)) : []
    }
    if (kind === "search") return search(answers, given.get("text") ?? "", given.get("key"))
    if (kind === "sessions" && what === "entries") return entries(key, given.get("at") ?? "")
    if (kind === "sessions" && what === "find") {
      const all = answers.get(`sessions/${key}/entries`)
      const index = Array.isArray(all) ? all.findLastIndex((row: ViewModel.EntryRow) => row.id === given.get("id")) : -1
      return index < 0 ? undefined : index
    }
    if (kind === "sessions" && what === "end")
      return endOf(answers, key, Number(given.get("entry")), Number(given.get("leaf")))
    if (kind === "sessions" && what === "tree") {
      const name = `sessions/${key}/tree?filter=${given.get("filter")}${given.has("all") ? "&all=1" : ""}`
      return rows(name, Number(given.get("from")), Number(given.get("count")))
    }
    return answers.get(address)
  }
  return {
    get: async <A>(address: string): Promise<A> => {
      const found = find(address)
      if (!isAnswer<A>(found)) throw new Error("this is not in the file")
      return found
    },
    mark: undefined,
    isFile: true
  }
}

/** The end of the branch to show an entry on: the one that is shown, or the active one, where the entry is on it. */
const endOf = (answers: ReadonlyMap<string, unknown>, key: string, entry: number, leaf: number): number | undefined => {
  const page = answers.get(`sessions/${key}`)
  const rows = answers.get(`sessions/${key}/entries`)
  if (!isAnswer<ViewModel.SessionPage>(page) || !isAnswer<ReadonlyArray<ViewModel.EntryRow>>(rows)) return undefined
  const above = (end: number | null): ReadonlySet<number> => {
    const branch = new Set<number>()
    for (let at = end; at !== null && !branch.has(at); at = rows[at]?.parent ?? null) branch.add(at)
    return branch
  }
  for (const end of [leaf, page.leaf ?? leaf]) if (above(end).has(entry)) return end
  const last = new Map(rows.map((row) => [row.parent, row.entry]))
  let end = entry
  for (let next = last.get(end); next !== undefined && next > end; next = last.get(end)) end = next
  return end
}

/** What a file holds was written as the answer to this very question. */
const isAnswer = <A>(found: unknown): found is A => found !== undefined

/** Looks through the entries of the file, as they are shown. */
const search = (answers: ReadonlyMap<string, unknown>, text: string, only: string | null): ViewModel.Hits => {
  const wanted = text.toLowerCase()
  const hits: Array<ViewModel.Hit> = []
  for (const [address, rows] of answers) {
    const [, key = ""] = /^sessions\/([\da-f]{16})\/entries$/u.exec(address) ?? []
    if (key === "" || (only !== null && only !== key) || !isAnswer<ReadonlyArray<ViewModel.EntryRow>>(rows)) continue
    for (const row of rows) {
      const found = row.parts.map(textOf).find((one) => one.toLowerCase().includes(wanted))
      if (found === undefined || hits.length >= 100) continue
      const at = found.toLowerCase().indexOf(wanted)
      hits.push({
        key,
        entryId: row.id,
        kind: row.kind,
        ...(row.time === undefined ? {} : { time: row.time }),
        before: found.slice(Math.max(0, at - 80), at),
        found: found.slice(at, at + text.length),
        after: found.slice(at + text.length, at + text.length + 80)
      })
    }
  }
  return { hits, isWhole: hits.length < 100 }
}

export const textOf = (part: ViewModel.EntryPart): string => {
  switch (part.part) {
    case "tool_call":
      return `${part.name} ${part.arguments.map(([, value]) => value).join(" ")}`
    case "image":
      return ""
    case "data":
      return part.json
    default:
      return part.text
  }
}

export const find = (): Answers => {
  const text = globalThis.document.getElementById("answers")?.textContent
  return text === undefined || text === null ? served : inFile(text)
}
