/**
 * The page with all its answers in it: one file, to be looked at without a server and given to others. What it holds is
 * what a server would have answered, by the same addresses.
 */
import * as Effect from "effect/Effect"
import { EntryFilter } from "@pi-sessions/report/EntryFilter"
import type * as ViewModel from "./ViewModel.ts"
import * as ViewPage from "./ViewPage.ts"
import { MOST_AT_ONCE, Viewer } from "./Viewer.ts"

export interface FileOptions {
  readonly assets: ViewPage.PageAssets
  /** Sessions are put in while their files together have no more bytes than that. */
  readonly mostBytes: number
  /** Called before each session. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

export interface MadeFile {
  readonly html: string
  /** Sessions that are in it. */
  readonly sessions: number
  /** Sessions that are only listed, since they are too large or cannot be read: their ids, and why. */
  readonly left: ReadonlyArray<{ readonly id: string; readonly reason: string }>
}

/** Lines of a dataset that are put in, of each file. */
const LINES = 50
const FILTERS = EntryFilter.literals

type Answers = { [address: string]: unknown }

/** Makes the file's text from what the viewer shows. */
export const make = Effect.fn("ViewFile.make")(function* (options: FileOptions) {
  const viewer = yield* Viewer
  const answers: Answers = {}
  const left: Array<MadeFile["left"][number]> = []
  const rows = yield* viewer.sessions
  const taken: Array<ViewModel.SessionRow> = []
  let bytes = 0
  for (const row of rows) {
    bytes += row.sizeBytes
    if (bytes <= options.mostBytes) taken.push(row)
    else {
      bytes -= row.sizeBytes
      left.push({ id: row.id, reason: "too large for one file" })
    }
  }
  const kept: Array<ViewModel.SessionRow> = []
  for (const [done, row] of taken.entries()) {
    yield* options.onProgress?.(done, taken.length) ?? Effect.void
    const put = yield* Effect.result(session(viewer, row.key))
    if (put._tag === "Success") {
      Object.assign(answers, put.success)
      kept.push(row)
    } else left.push({ id: row.id, reason: put.failure.message })
  }
  const home = yield* viewer.home
  const note = [
    home.note,
    ...(left.length === 0 ? [] : [`${left.length} of ${rows.length} sessions are not in this file`])
  ]
  answers["home"] = { ...home, marksFile: null, note: note.filter((one) => one !== "").join("; ") }
  answers["sessions"] = kept
  answers["summaries"] = yield* summaries(viewer, kept)
  answers["marks"] = marksOf(kept, yield* Effect.orElseSucceed(viewer.marks, () => ({})))
  if (home.hasDataset) Object.assign(answers, yield* dataset(viewer))
  return { html: ViewPage.document(options.assets, answers), sessions: kept.length, left } satisfies MadeFile
})

/** Of the sessions in the file alone: who gets it is not told of others. */
const marksOf = (rows: ReadonlyArray<ViewModel.SessionRow>, marks: ViewModel.Marks): ViewModel.Marks =>
  Object.fromEntries(
    Object.entries(marks).filter(([on]) => rows.some(({ id }) => on === id || on.startsWith(`${id}/`)))
  )

const summaries = Effect.fnUntraced(function* (viewer: Viewer["Service"], rows: ReadonlyArray<ViewModel.SessionRow>) {
  const all: Array<ViewModel.SessionSummary> = []
  for (let at = 0; at < rows.length; at += MOST_AT_ONCE) {
    all.push(...(yield* viewer.summaries(rows.slice(at, at + MOST_AT_ONCE).map(({ key }) => key))))
  }
  return all
})

const session = Effect.fnUntraced(function* (viewer: Viewer["Service"], key: string) {
  const answers: Answers = {}
  const at = `sessions/${key}`
  const page = yield* viewer.session(key)
  answers[at] = page
  const entries: Array<ViewModel.EntryRow> = []
  for (let from = 0; from < page.entries; from += MOST_AT_ONCE) {
    entries.push(...(yield* viewer.entries(key, [from, MOST_AT_ONCE], { whole: true })))
  }
  answers[`${at}/entries`] = entries
  for (const filter of FILTERS) {
    for (const { entry } of page.branches) {
      answers[`${at}/branch?leaf=${entry}&filter=${filter}`] = yield* viewer.branch(key, entry, filter)
    }
    for (const all of [false, true]) {
      answers[`${at}/tree?filter=${filter}${all ? "&all=1" : ""}`] = yield* tree(viewer, key, filter, all)
    }
  }
  for (const { entry, parts } of entries) {
    for (const part of parts) {
      if (part.part !== "image" || part.picture === null) continue
      const found = yield* Effect.option(viewer.picture(key, entry, part.picture))
      if (found._tag === "Some") answers[`${at}/picture?entry=${entry}&picture=${part.picture}`] = found.value
    }
  }
  const samples = yield* Effect.option(viewer.samples(key))
  if (samples._tag === "Some") answers[`${at}/samples`] = samples.value
  answers[`${at}/health`] = yield* viewer.health(key)
  return answers
})

const tree = Effect.fnUntraced(function* (viewer: Viewer["Service"], key: string, filter: EntryFilter, all: boolean) {
  const rows: Array<ViewModel.TreeRow> = []
  for (;;) {
    const page = yield* viewer.tree(key, { filter, all, from: rows.length, count: MOST_AT_ONCE })
    rows.push(...page.rows)
    if (page.rows.length === 0 || rows.length >= page.total) return { total: page.total, rows }
  }
})

const dataset = Effect.fnUntraced(function* (viewer: Viewer["Service"]) {
  const page = yield* viewer.dataset
  const answers: Answers = { dataset: page }
  for (const { name } of page.files) {
    const { lines, total } = yield* viewer.lines(name, 0, LINES)
    for (const [at, line] of lines.entries()) {
      const most = Math.min(total, lines.length)
      answers[`dataset/lines?file=${encodeURIComponent(name)}&from=${at}&count=1`] = { total: most, lines: [line] }
    }
  }
  return answers
})
