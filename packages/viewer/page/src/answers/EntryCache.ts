/** Entries of a session, fetched as they come into sight. */
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { type Answers } from "./Answers.ts"
import { messageOf } from "./messageOf.ts"

/** Rows kept; the oldest are dropped first. */
const KEPT = 3000
/** Entries in one request. */
const AT_ONCE = 200

export class EntryCache {
  readonly #answers: Answers
  readonly #key: string
  readonly #changed: () => void
  readonly #rows = new Map<number, ViewModel.EntryRow>()
  readonly #whole = new Map<number, ViewModel.EntryRow>()
  #wanted: ReadonlyArray<number> = []
  #isAsking = false
  /** Of the last request. */
  error: string | undefined

  /** Calls `changed` when entries have arrived. */
  constructor(answers: Answers, key: string, changed: () => void) {
    this.#answers = answers
    this.#key = key
    this.#changed = changed
  }

  get(entry: number): ViewModel.EntryRow | undefined {
    return this.#whole.get(entry) ?? this.#rows.get(entry)
  }

  /** Fetches these entries in order; entries that were wanted before and are not fetched yet are cancelled. */
  want(entries: ReadonlyArray<number>): void {
    this.#wanted = entries
    void this.#ask()
  }

  /** One request at a time. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return
    const missing = this.#wanted.filter((entry) => !this.#rows.has(entry)).slice(0, AT_ONCE)
    if (missing.length === 0) return
    this.#isAsking = true
    try {
      for (const row of await this.#answers.get(ViewQuestion.entries(this.#key, missing))) {
        this.#rows.set(row.entry, row)
      }
      for (const old of this.#rows.keys()) {
        if (this.#rows.size <= KEPT) break
        this.#rows.delete(old)
      }
      this.error = undefined
    } catch (error) {
      this.error = messageOf(error)
    }
    this.#isAsking = false
    this.#changed()
    if (this.error === undefined) void this.#ask()
  }

  /** Fetches an entry with nothing omitted. */
  async fetchWhole(entry: number): Promise<void> {
    const [row] = await this.#answers.get(ViewQuestion.entries(this.#key, [entry], { whole: true }))
    if (row !== undefined) this.#whole.set(entry, row)
    this.#changed()
  }
}
