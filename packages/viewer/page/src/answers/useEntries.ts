/** Entries as they come into sight: asked for in ranges, kept while they are near. */
import { useEffect, useMemo, useState } from "preact/hooks"
import type * as ViewModel from "../../../src/ViewModel.ts"
import { type Answers } from "./Answers.ts"

/** More rows than that are forgotten, those that were asked for first. */
const KEPT = 3000
const AT_ONCE = 200

export class EntryCache {
  readonly #answers: Answers
  readonly #key: string
  readonly #changed: () => void
  readonly #rows = new Map<number, ViewModel.EntryRow>()
  readonly #whole = new Map<number, ViewModel.EntryRow>()
  readonly #asked = new Set<number>()
  #wanted: ReadonlyArray<number> = []
  #isAsking = false
  error: string | undefined

  constructor(answers: Answers, key: string, changed: () => void) {
    this.#answers = answers
    this.#key = key
    this.#changed = changed
  }

  get(entry: number): ViewModel.EntryRow | undefined {
    return this.#whole.get(entry) ?? this.#rows.get(entry)
  }

  /** What is in sight now; what was before need not be asked for any more. */
  want(entries: ReadonlyArray<number>): void {
    this.#wanted = entries
    void this.#ask()
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return
    const missing = this.#wanted.filter((entry) => !this.#rows.has(entry) && !this.#asked.has(entry)).slice(0, AT_ONCE)
    if (missing.length === 0) return
    this.#isAsking = true
    for (const entry of missing) this.#asked.add(entry)
    try {
      const at = rangesText(missing)
      const rows = await this.#answers.get<ReadonlyArray<ViewModel.EntryRow>>(`sessions/${this.#key}/entries?at=${at}`)
      for (const row of rows) this.#rows.set(row.entry, row)
      for (const old of this.#rows.keys()) {
        if (this.#rows.size <= KEPT) break
        this.#rows.delete(old)
      }
      this.error = undefined
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error)
    }
    for (const entry of missing) this.#asked.delete(entry)
    this.#isAsking = false
    this.#changed()
    if (this.error === undefined) void this.#ask()
  }

  /** Fetches an entry with nothing left out. */
  async whole(entry: number): Promise<void> {
    const [row] = await this.#answers.get<ReadonlyArray<ViewModel.EntryRow>>(
      `sessions/${this.#key}/entries?at=${entry}-1&whole=1`
    )
    if (row !== undefined) this.#whole.set(entry, row)
    this.#changed()
  }
}

/** `first-count,first-count` */
export const rangesText = (entries: ReadonlyArray<number>): string => {
  const ranges: Array<[number, number]> = []
  for (const entry of entries.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range !== undefined && range[0] + range[1] === entry) range[1]++
    else ranges.push([entry, 1])
  }
  return ranges.map(([first, count]) => `${first}-${count}`).join(",")
}

export const useEntries = (answers: Answers, key: string): EntryCache => {
  const [, setVersion] = useState(0)
  const cache = useMemo(() => new EntryCache(answers, key, () => setVersion((now) => now + 1)), [answers, key])
  useEffect(() => () => cache.want([]), [cache])
  return cache
}
