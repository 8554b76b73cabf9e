/**
 * What the page shows, asked for piece by piece: the list, a session's tree and its entries, the samples made of it, its
 * health, a dataset, marks. Everything that leaves here is as it may be seen: redacted unless told otherwise, but for ids.
 *
 * A large session is never in memory whole: see `internal/view/ViewedSession.ts`. Two questions read one whole, that for
 * its samples and that for damage; they are refused above `WHOLE_BYTES`.
 */
import { createHash } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as RcMap from "effect/RcMap"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type SessionSearch } from "@pi-sessions/catalog/SessionSearch"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type RedactionSettings } from "@pi-sessions/extract/ExtractOptions"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import * as Marks from "@pi-sessions/samples/Marks"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { type SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import * as EntryFilter from "@pi-sessions/report/EntryFilter"
import type * as ViewModel from "./ViewModel.ts"
import { type ViewedEntry } from "./internal/ViewedEntry.ts"
import { datasetPage, sampleLines } from "./internal/datasetPage.ts"
import { entryRow, indexesOf, pictureOf } from "./internal/entryRow.ts"
import { sampleCut } from "./internal/samplesPage.ts"
import { findIn } from "./internal/searchHits.ts"
import { sessionHealth } from "./internal/sessionHealth.ts"
import { sessionPage } from "./internal/sessionPage.ts"
import { sessionRow, summaryOf } from "./internal/sessionRows.ts"
import { shownRow, treeRows } from "./internal/treeRows.ts"
import { type ViewedSession, open } from "./internal/ViewedSession.ts"

/** Nothing of that name is shown here. */
export class ViewNotFound extends Schema.TaggedError<ViewNotFound>()(
  "ViewNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}

/** It is there, and cannot be shown. */
export class ViewFailed extends Schema.TaggedError<ViewFailed>()(
  "ViewFailed",
  { message: Schema.String },
  { httpApiStatus: 422 }
) {}

export interface ViewerOptions {
  readonly version: string
  readonly sessions: ReadonlyArray<CatalogSession>
  /** Why these are not all; "" when they are. */
  readonly note: string
  readonly begin: "sessions" | "session" | "dataset"
  /** The directory of a dataset. */
  readonly dataset?: string | undefined
  readonly redaction: RedactionSettings | "off"
  /** Whether pictures can be seen: nobody takes secrets out of them. */
  readonly withPictures: boolean
  /** The file of marks; none can be set without one. */
  readonly marksFile?: string | undefined
  /** Of the samples beside a session. */
  readonly format: FormatName
}

/** Sessions are read whole up to this size. */
export const WHOLE_BYTES = 64 << 20

/** Texts of a row are cut there; the whole entry is one question more. */
const ROW_TEXT = 6000
/** So many entries, lines of the tree or sessions are told at a time. */
export const MOST_AT_ONCE = 500
const HITS = 100

type Failure = ViewNotFound | ViewFailed
type Needs = FileSystem.FileSystem | Path.Path | SessionSource | SessionSearch | SessionStore | StoreLock

export class Viewer extends Context.Service<
  Viewer,
  {
    readonly home: Effect.Effect<ViewModel.Home>
    readonly sessions: Effect.Effect<ReadonlyArray<ViewModel.SessionRow>>
    /** Reads the sessions' beginnings; unknown keys are left out. */
    readonly summaries: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ViewModel.SessionSummary>>
    /** Opens the session anew where its file has changed. */
    readonly session: (key: string) => Effect.Effect<ViewModel.SessionPage, Failure>
    /** The entries from the root to `leaf` that the filter takes. */
    readonly branch: (
      key: string,
      leaf: number,
      filter: EntryFilter.EntryFilter
    ) => Effect.Effect<ViewModel.Ranges, Failure>
    readonly entries: (
      key: string,
      ranges: ViewModel.Ranges,
      options?: { readonly whole?: boolean }
    ) => Effect.Effect<ReadonlyArray<ViewModel.EntryRow>, Failure>
    readonly tree: (
      key: string,
      options: {
        readonly filter: EntryFilter.EntryFilter
        /** A line for every entry. */
        readonly all: boolean
        readonly from: number
        readonly count: number
      }
    ) => Effect.Effect<ViewModel.TreePage, Failure>
    readonly picture: (key: string, entry: number, picture: number) => Effect.Effect<ViewModel.Picture, Failure>
    /** Where an entry with that id is; of several the one in the tree. */
    readonly find: (key: string, entryId: string) => Effect.Effect<number, Failure>
    /** The end of the branch to show an entry on: `leaf`, or the session's, where the entry is on that branch. */
    readonly end: (key: string, entry: number, leaf: number) => Effect.Effect<number, Failure>
    /** In one session, or in all. */
    readonly search: (text: string, key?: string) => Effect.Effect<ViewModel.Hits, Failure>
    readonly samples: (key: string) => Effect.Effect<ViewModel.SamplesPage, Failure>
    readonly health: (key: string) => Effect.Effect<ViewModel.SessionHealth, Failure>
    readonly dataset: Effect.Effect<ViewModel.DatasetPage, Failure>
    readonly lines: (file: string, from: number, count: number) => Effect.Effect<ViewModel.SampleLines, Failure>
    readonly marks: Effect.Effect<ViewModel.Marks, Failure>
    readonly mark: (request: ViewModel.MarkRequest) => Effect.Effect<ViewModel.Marks, Failure>
  }
>()("@pi-sessions/report/Viewer") {
  static readonly layer = (options: ViewerOptions): Layer.Layer<Viewer, never, Needs> =>
    Layer.effect(
      Viewer,
      Effect.suspend(() => make(options))
    )
}

/** Names a session in addresses, and tells nothing of where it lies. */
export const keyOf = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, 16)

const failed = ({ message }: { readonly message: string }): ViewFailed => new ViewFailed({ message })

/** Another server that keeps its marks in the same file writes them in a moment. */
const untilFree = { schedule: Schedule.spaced("20 millis"), times: 500 }

const make = Effect.fnUntraced(function* (options: ViewerOptions) {
  const services = yield* Effect.context<Needs>()
  const { redaction } = options
  const redactor =
    redaction === "off"
      ? undefined
      : new Redactor({ placeholders: new Placeholders(redaction.key), exact: redaction.exact ?? [] })
  const byKey = new Map(options.sessions.map((session) => [keyOf(session.path), session]))
  const scope = (paths: ReadonlyArray<string>) => {
    const redacting = redactor?.scope(paths)
    return (text: string): string => redacting?.text(text) ?? text
  }

  const refOf = (key: string): Effect.Effect<CatalogSession, ViewNotFound> => {
    const found = byKey.get(key)
    return found === undefined
      ? Effect.fail(new ViewNotFound({ message: "no such session is listed here" }))
      : Effect.succeed(found)
  }

  /** A message of ours that may name one of these paths. */
  const failedAt =
    (...paths: ReadonlyArray<string>) =>
    (error: { readonly message: string }) =>
      new ViewFailed({ message: scope(paths)(error.message) })
  const failedFor = ({ cwd, path }: CatalogSession) => failedAt(path, cwd)

  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const lock = yield* StoreLock
  /** Tells one state of a session's file from another; undefined where it cannot be told. */
  const stateOf = (ref: CatalogSession) =>
    ref.format === "jsonl"
      ? Effect.orElseSucceed(
          Effect.map(fs.stat(ref.path), ({ ino, mtime, size }) => `${size} ${String(ino)} ${String(mtime)}`),
          () => undefined
        )
      : Effect.undefined
  /** What the files of sessions were when they were opened. */
  const states = new Map<string, string | undefined>()

  const opened = yield* RcMap.make({
    lookup: (key: string) =>
      Effect.gen(function* () {
        const ref = yield* refOf(key)
        states.set(key, yield* stateOf(ref))
        return yield* Effect.mapError(open(ref, redactor), failedFor(ref))
      }).pipe(
        Effect.provideContext(services),
        Effect.catchDefect((defect) => Effect.fail(new ViewFailed({ message: scope([])(String(defect)) })))
      ),
    idleTimeToLive: "1 minute"
  })

  /** The session for the time of one answer. */
  const using = <A>(key: string, use: (session: ViewedSession) => A): Effect.Effect<A, Failure> =>
    Effect.scoped(
      Effect.flatMap(RcMap.get(opened, key), (session) =>
        Effect.try({
          try: () => use(session),
          // The file was cut or rewritten below us, or a value is nested beyond the stack.
          catch: () => new ViewFailed({ message: "cannot be read any more as it was; open the session again" })
        })
      )
    )

  // A person takes longer to come than a session to be read.
  const begin = beginOf(options)
  if (begin.page === "session") yield* Effect.forkScoped(Effect.ignore(using(begin.key, () => undefined)))

  const entryAt = (session: ViewedSession, index: number): ViewedEntry | undefined => session.entries[index]

  const branch = (key: string, leaf: number, filter: EntryFilter.EntryFilter) =>
    using(key, (session) => {
      const end = entryAt(session, leaf)
      const { filterFacts, tree } = session
      const entries = end === undefined ? [] : tree.branchTo(end)
      // A call is told by its answer: the conversation shows answers that only call tools, unless tools are left out.
      const isShown = filter === "no-tools" ? EntryFilter.lists : EntryFilter.takes
      return rangesOf(indexesOf(entries.filter((entry) => isShown(filter, entry, filterFacts))))
    })

  const entries = (key: string, ranges: ViewModel.Ranges, { whole = false } = {}) =>
    using(key, (session) => {
      const most = whole ? Number.POSITIVE_INFINITY : ROW_TEXT
      const { withPictures } = options
      return [...indexesIn(ranges)]
        .slice(0, MOST_AT_ONCE)
        .flatMap((index) => entryAt(session, index) ?? [])
        .map((entry) => entryRow(session, entry, { most, withPictures }))
    })

  /** Rows of the trees that are open; of each the two lists that were looked at last. */
  const trees = new WeakMap<ViewedSession, Map<string, ReturnType<typeof treeRows>>>()
  const rowsOf = (session: ViewedSession, filter: EntryFilter.EntryFilter, all: boolean) => {
    const lists = trees.get(session) ?? new Map<string, ReturnType<typeof treeRows>>()
    trees.set(session, lists)
    const name = `${filter} ${all}`
    const known = lists.get(name)
    if (known !== undefined) return known
    const [oldest] = lists.keys()
    if (lists.size > 1 && oldest !== undefined) lists.delete(oldest)
    const rows = treeRows(session, filter, all)
    lists.set(name, rows)
    return rows
  }

  const marking = yield* Semaphore.make(1)
  const marksFile = Effect.suspend(() =>
    options.marksFile === undefined
      ? Effect.fail(new ViewFailed({ message: "marks are not kept here" }))
      : Effect.succeed(options.marksFile)
  )
  const readMarks = Effect.flatMap(marksFile, (file) => Effect.mapError(Marks.readOrNone(file), failedAt(file)))

  return Viewer.of({
    home: Effect.sync(() => ({
      version: options.version,
      begin,
      sessions: options.sessions.length,
      note: options.note,
      hasDataset: options.dataset !== undefined,
      isRedacted: redactor !== undefined,
      marksFile: options.marksFile === undefined ? null : scope([options.marksFile])(options.marksFile)
    })),
    sessions: Effect.sync(() =>
      [...byKey].map(([key, session]) => sessionRow(key, session, scope([session.path, session.cwd])))
    ),
    summaries: (keys) =>
      Effect.forEach(
        keys.slice(0, MOST_AT_ONCE).flatMap((key) => {
          const ref = byKey.get(key)
          return ref === undefined ? [] : [{ key, ref }]
        }),
        ({ key, ref }) => summaryOf(key, ref, redactor),
        { concurrency: 4 }
      ).pipe(Effect.provideContext(services)),
    session: (key) =>
      Effect.gen(function* () {
        const ref = yield* refOf(key)
        const state = yield* stateOf(ref)
        if (state === undefined || state !== states.get(key)) yield* RcMap.invalidate(opened, key)
        return yield* using(key, (session) => sessionPage(key, session, ref.sizeBytes > WHOLE_BYTES))
      }),
    branch,
    entries,
    tree: (key, { all, count, filter, from }) =>
      using(key, (session) => {
        const rows = rowsOf(session, filter, all)
        const shown = rows.slice(from, from + Math.min(count, MOST_AT_ONCE))
        return { total: rows.length, rows: shown.map((row) => shownRow(session, row)) }
      }),
    picture: (key, entry, picture) =>
      Effect.flatMap(
        using(key, (session) => {
          const at = entryAt(session, entry)
          return at === undefined || !options.withPictures ? undefined : pictureOf(at, picture)
        }),
        (found) =>
          found === undefined
            ? Effect.fail(new ViewNotFound({ message: "no such picture is shown here" }))
            : Effect.succeed(found)
      ),
    find: (key, entryId) =>
      Effect.flatMap(
        using(key, ({ tree }) => {
          const entry = tree.getEntry(entryId)
          return entry === undefined ? undefined : indexesOf([entry])[0]
        }),
        (index) =>
          index === undefined
            ? Effect.fail(new ViewNotFound({ message: "no such entry is in the session" }))
            : Effect.succeed(index)
      ),
    end: (key, entry, leaf) =>
      using(key, (session) => {
        const { tree } = session
        const at = entryAt(session, entry)
        const ends = [entryAt(session, leaf), tree.getLeafEntry()]
        const found = ends.find((end) => at !== undefined && end !== undefined && tree.branchTo(end).includes(at))
        return indexesOf([found ?? lastBelow(session, at) ?? {}])[0] ?? entry
      }),
    search: (text, key) =>
      Effect.gen(function* () {
        const sessions = key === undefined ? options.sessions : [yield* refOf(key)]
        return yield* findIn(sessions, text, { most: HITS, keyOf: ({ path }) => keyOf(path) }, (ref, use) =>
          using(keyOf(ref.path), use)
        ).pipe(Effect.mapError(failed), Effect.provideContext(services))
      }),
    samples: (key) =>
      Effect.gen(function* () {
        const ref = yield* refOf(key)
        if (ref.sizeBytes > WHOLE_BYTES) return yield* new ViewFailed({ message: TOO_LARGE })
        return yield* sampleCut(ref, { format: options.format, redaction }).pipe(
          Effect.mapError(failedFor(ref)),
          Effect.catchDefect((defect) => Effect.fail(new ViewFailed({ message: scope([ref.path])(String(defect)) }))),
          Effect.provideContext(services)
        )
      }),
    health: (key) =>
      Effect.gen(function* () {
        const ref = yield* refOf(key)
        const problem = ref.sizeBytes > WHOLE_BYTES ? TOO_LARGE : undefined
        return yield* sessionHealth(key, ref, redactor, problem).pipe(Effect.provideContext(services))
      }),
    dataset: Effect.gen(function* () {
      const { dataset } = options
      if (dataset === undefined) return yield* new ViewNotFound({ message: "no dataset is shown here" })
      return yield* datasetPage(dataset, redactor).pipe(
        Effect.mapError(failedAt(dataset)),
        Effect.provideContext(services)
      )
    }),
    lines: (file, from, count) =>
      Effect.gen(function* () {
        const { dataset } = options
        if (dataset === undefined) return yield* new ViewNotFound({ message: "no dataset is shown here" })
        const asked = { from, count: Math.min(count, MOST_AT_ONCE) }
        const lines = yield* sampleLines(dataset, file, asked, redactor).pipe(
          Effect.mapError(failedAt(dataset)),
          Effect.provideContext(services)
        )
        return lines ?? (yield* new ViewNotFound({ message: "no such file is in the dataset" }))
      }),
    marks: Effect.suspend(() =>
      options.marksFile === undefined
        ? Effect.succeed({})
        : Effect.map(readMarks, flat).pipe(Effect.provideContext(services))
    ),
    mark: ({ entry, mark, session }) =>
      Effect.gen(function* () {
        const file = yield* marksFile
        yield* Effect.mapError(fs.makeDirectory(path.dirname(file), { recursive: true }), failedAt(file))
        yield* lock
          .acquire(`${file}.lock`)
          .pipe(
            Effect.retry({ ...untilFree, while: ({ _tag }) => _tag === "StoreLocked" }),
            Effect.mapError(failedAt(file))
          )
        // Read again: somebody else may have the page open too.
        const after = Marks.set(yield* readMarks, session, entry, mark)
        yield* Effect.mapError(Marks.write(file, after), failedAt(file))
        return flat(after)
      }).pipe(Effect.scoped, marking.withPermits(1), Effect.provideContext(services))
  })
})

/** The end of the branch that goes on from an entry with what was appended last. */
const lastBelow = ({ tree }: ViewedSession, entry: SessionEntry | undefined): SessionEntry | undefined => {
  let end = entry
  for (;;) {
    const next: SessionEntry | undefined = end?.id == null ? undefined : tree.children(end.id).at(-1)
    if (next === undefined) return end
    end = next
  }
}

const TOO_LARGE = `larger than ${WHOLE_BYTES >> 20} MiB, so it is not read whole here; the commands show --as and doctor do`

const beginOf = ({ begin, sessions }: ViewerOptions): ViewModel.Home["begin"] => {
  if (begin !== "session") return { page: begin }
  const [first] = sessions
  return first === undefined ? { page: "sessions" } : { page: "session", key: keyOf(first.path) }
}

/** By session id, and by `session id/entry id`. */
const flat = ({ sessions }: Marks.Marks): ViewModel.Marks =>
  Object.fromEntries(
    Object.entries(sessions).flatMap(([id, { entries = {}, session }]) => [
      ...(session === undefined ? [] : [[id, session] as const]),
      ...Object.entries(entries).map(([entry, mark]) => [`${id}/${entry}`, mark] as const)
    ])
  )

/** Ascending indexes as ranges. */
export const rangesOf = (indexes: ReadonlyArray<number>): Array<number> => {
  const ranges: Array<number> = []
  let next = -1
  for (const index of indexes) {
    if (index === next) ranges[ranges.length - 1] = (ranges.at(-1) ?? 0) + 1
    else ranges.push(index, 1)
    next = index + 1
  }
  return ranges
}

/** The indexes that ranges stand for. */
export function* indexesIn(ranges: ViewModel.Ranges): Generator<number> {
  for (let at = 0; at + 1 < ranges.length; at += 2) {
    const first = ranges[at] ?? 0
    const count = Math.min(ranges[at + 1] ?? 0, MOST_RANGE)
    for (let index = first; index < first + count; index++) yield index
  }
}

/** No session has more entries than fit into memory as envelopes. */
const MOST_RANGE = 10_000_000
