/**
 * Answers of a self-contained file, by address. The file has entries, trees and summaries whole; questions for pieces of
 * them, and searches, are answered here.
 */
import * as EntryRanges from "../../../src/EntryRanges.ts"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { type Answers } from "./Answers.ts"
import { searchEntries } from "./searchEntries.ts"

export const fileAnswers = (text: string): Answers => {
  const stored = new StoredAnswers(JSON.parse(text))
  return {
    get: async (question) => {
      const { pathname, searchParams } = new URL(question.address, "file:///")
      const [kind = "", key = "", what = ""] = pathname.slice(1).split("/")
      const piece = kind === "sessions" ? SESSION_PIECES[what] : PIECES[kind]
      const found = piece === undefined ? stored.get(question) : piece(stored, searchParams, key)
      if (!isAnswer<NonNullable<typeof question.answer>>(found)) throw new Error("this is not in the file")
      return found
    },
    mark: undefined
  }
}

/** The file has, for each address, the answer to its question. */
const isAnswer = <A>(found: unknown): found is A => found !== undefined

class StoredAnswers {
  readonly byAddress: ReadonlyMap<string, unknown>

  constructor(answers: object) {
    this.byAddress = new Map(Object.entries(answers))
  }

  get<A>({ address }: ViewQuestion.Question<A>): A | undefined {
    const found = this.byAddress.get(address)
    return isAnswer<A>(found) ? found : undefined
  }

  entries(key: string): ReadonlyArray<ViewModel.EntryRow> {
    return this.get(ViewQuestion.inFile.entries(key)) ?? []
  }
}

/** Undefined if the file has no answer. */
type Piece = (stored: StoredAnswers, given: URLSearchParams, key: string) => unknown

const PIECES: { readonly [kind: string]: Piece | undefined } = {
  summaries: (stored, given) => {
    const keys = new Set((given.get("keys") ?? "").split(","))
    return stored.get(ViewQuestion.inFile.summaries)?.filter(({ key }) => keys.has(key))
  },
  search: (stored, given) => {
    const only = given.get("key")
    const rows = stored.get(ViewQuestion.sessions) ?? []
    const keys = rows.map(({ key }) => key).filter((key) => only === null || key === only)
    return searchEntries(new Map(keys.map((key) => [key, stored.entries(key)])), given.get("text") ?? "")
  }
}

const SESSION_PIECES: { readonly [what: string]: Piece | undefined } = {
  entries: (stored, given, key) => {
    const all = stored.entries(key)
    return [...EntryRanges.indexes(EntryRanges.fromText(given.get("at") ?? ""))].flatMap((index) => all[index] ?? [])
  },
  find: (stored, given, key) => {
    const index = stored.entries(key).findLastIndex(({ id }) => id === given.get("id"))
    return index < 0 ? undefined : index
  },
  end: (stored, given, key) => {
    const page = stored.get(ViewQuestion.session(key))
    const entry = Number(given.get("entry"))
    return page === undefined ? undefined : branchEndOf(page, stored.entries(key), entry, Number(given.get("leaf")))
  },
  tree: (stored, given, key) => {
    const from = Number(given.get("from"))
    given.delete("from")
    const count = Number(given.get("count"))
    given.delete("count")
    const whole = stored.get<ViewModel.TreePage>({ address: `sessions/${key}/tree?${given}` })
    return whole === undefined ? undefined : { ...whole, rows: whole.rows.slice(from, from + count) }
  }
}

/** The server's rule (internal/branches.ts): `leaf` or the active leaf if the entry is on that branch, else its own end. */
const branchEndOf = (
  page: ViewModel.SessionPage,
  rows: ReadonlyArray<ViewModel.EntryRow>,
  entry: number,
  leaf: number
): number => {
  const branchTo = (end: number | null): ReadonlySet<number> => {
    const branch = new Set<number>()
    for (let at = end; at !== null && !branch.has(at); at = rows[at]?.parent ?? null) branch.add(at)
    return branch
  }
  for (const end of [leaf, page.leaf ?? leaf]) if (branchTo(end).has(entry)) return end
  const lastChild = new Map(rows.map((row) => [row.parent, row.entry]))
  let end = entry
  for (let next = lastChild.get(end); next !== undefined && next > end; next = lastChild.get(end)) end = next
  return end
}
