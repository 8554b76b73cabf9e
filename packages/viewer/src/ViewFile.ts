/** Makes the page with all its answers in one HTML file, which needs no server. Answers are stored by address. */
import * as Effect from "effect/Effect"
import { EntryFilter } from "@pi-sessions/report/EntryFilter"
import { MOST_AT_ONCE } from "./ViewLimits.ts"
import type * as ViewModel from "./ViewModel.ts"
import * as ViewPage from "./ViewPage.ts"
import * as ViewQuestion from "./ViewQuestion.ts"
import { Viewer } from "./Viewer.ts"

export interface FileOptions {
  readonly assets: ViewPage.PageAssets
  /** Limit on the size of the included sessions together, in bytes. */
  readonly mostBytes: number
  /** Called before each session. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

export interface MadeFile {
  readonly html: string
  /** Number of included sessions. */
  readonly sessions: number
  /** Sessions that are too large or cannot be read. */
  readonly left: ReadonlyArray<LeftSession>
}

interface LeftSession {
  readonly id: string
  readonly reason: string
}

/** Lines of each file of a dataset. */
const LINES = 50

/** Answers by address. */
class Answers {
  readonly byAddress: { [address: string]: unknown } = {}

  put<A>({ address }: ViewQuestion.Question<A>, answer: A): void {
    this.byAddress[address] = answer
  }
}

/** Asks the viewer everything that the page can ask, and puts the answers into the document. */
export const make = Effect.fn("ViewFile.make")(function* (options: FileOptions) {
  const viewer = yield* Viewer
  const answers = new Answers()
  const all = yield* viewer.sessions
  const { fitting, left } = fittingSessions(all, options.mostBytes)
  const included: Array<ViewModel.SessionRow> = []
  for (const [done, row] of fitting.entries()) {
    yield* options.onProgress?.(done, fitting.length) ?? Effect.void
    const read = yield* Effect.result(sessionAnswers(viewer, row.key))
    if (read._tag === "Success") {
      Object.assign(answers.byAddress, read.success.byAddress)
      included.push(row)
    } else left.push({ id: row.id, reason: read.failure.message })
  }
  const home = yield* viewer.home
  const notes = [home.note, left.length === 0 ? "" : `${left.length} of ${all.length} sessions are not in this file`]
  const note = notes.filter((one) => one !== "").join("; ")
  answers.put(ViewQuestion.home, { ...home, marksFile: null, note })
  answers.put(ViewQuestion.sessions, included)
  answers.put(ViewQuestion.inFile.summaries, yield* summariesOf(viewer, included))
  answers.put(ViewQuestion.marks, marksOf(included, yield* Effect.orElseSucceed(viewer.marks, () => ({}))))
  if (home.hasDataset) yield* putDataset(viewer, answers)
  return {
    html: ViewPage.document(options.assets, answers.byAddress),
    sessions: included.length,
    left
  } satisfies MadeFile
})

/** Takes sessions in order while they fit. */
const fittingSessions = (rows: ReadonlyArray<ViewModel.SessionRow>, mostBytes: number) => {
  const fitting: Array<ViewModel.SessionRow> = []
  const left: Array<LeftSession> = []
  let bytes = 0
  for (const row of rows) {
    if (bytes + row.sizeBytes > mostBytes) left.push({ id: row.id, reason: "too large for one file" })
    else {
      bytes += row.sizeBytes
      fitting.push(row)
    }
  }
  return { fitting, left }
}

/** The marks of the included sessions: the reader of the file must not learn of others. */
const marksOf = (rows: ReadonlyArray<ViewModel.SessionRow>, marks: ViewModel.Marks): ViewModel.Marks =>
  Object.fromEntries(
    Object.entries(marks).filter(([on]) => rows.some(({ id }) => on === id || on.startsWith(`${id}/`)))
  )

const summariesOf = Effect.fnUntraced(function* (viewer: Viewer["Service"], rows: ReadonlyArray<ViewModel.SessionRow>) {
  const all: Array<ViewModel.SessionSummary> = []
  for (let at = 0; at < rows.length; at += MOST_AT_ONCE) {
    all.push(...(yield* viewer.summaries(rows.slice(at, at + MOST_AT_ONCE).map(({ key }) => key))))
  }
  return all
})

/** Every answer about a session. */
const sessionAnswers = Effect.fnUntraced(function* (viewer: Viewer["Service"], key: string) {
  const answers = new Answers()
  const page = yield* viewer.session(key)
  answers.put(ViewQuestion.session(key), page)
  const entries: Array<ViewModel.EntryRow> = []
  for (let from = 0; from < page.entries; from += MOST_AT_ONCE) {
    entries.push(...(yield* viewer.entries(key, [from, MOST_AT_ONCE], { whole: true })))
  }
  answers.put(ViewQuestion.inFile.entries(key), entries)
  for (const filter of EntryFilter.literals) {
    for (const { entry } of page.branches) {
      answers.put(ViewQuestion.branch(key, entry, filter), yield* viewer.branch(key, entry, filter))
    }
    for (const all of [false, true]) {
      answers.put(ViewQuestion.inFile.tree(key, { filter, all }), yield* wholeTree(viewer, key, { filter, all }))
    }
  }
  for (const { entry, parts } of entries) {
    for (const part of parts) {
      if (part.part !== "image" || part.picture === null) continue
      const found = yield* Effect.option(viewer.picture(key, entry, part.picture))
      if (found._tag === "Some") answers.put(ViewQuestion.picture(key, entry, part.picture), found.value)
    }
  }
  const samples = yield* Effect.option(viewer.samples(key))
  if (samples._tag === "Some") answers.put(ViewQuestion.samples(key), samples.value)
  answers.put(ViewQuestion.health(key), yield* viewer.health(key))
  return answers
})

const wholeTree = Effect.fnUntraced(function* (
  viewer: Viewer["Service"],
  key: string,
  options: ViewQuestion.TreeOptions
) {
  const rows: Array<ViewModel.TreeRow> = []
  for (;;) {
    const page = yield* viewer.tree(key, { ...options, from: rows.length, count: MOST_AT_ONCE })
    rows.push(...page.rows)
    if (page.rows.length === 0 || rows.length >= page.total) return { total: page.total, rows }
  }
})

const putDataset = Effect.fnUntraced(function* (viewer: Viewer["Service"], answers: Answers) {
  const page = yield* viewer.dataset
  answers.put(ViewQuestion.dataset, page)
  for (const { name } of page.files) {
    const { lines, total } = yield* viewer.lines(name, 0, LINES)
    for (const [at, line] of lines.entries()) {
      answers.put(ViewQuestion.line(name, at), { total: Math.min(total, lines.length), lines: [line] })
    }
  }
})
