/**
 * Answers the questions of the page: the list of sessions, a session's tree and entries, its samples, its health, a dataset,
 * marks. Answers are redacted, except ids and pictures. Each answer is a module of `internal/`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Semaphore from "effect/Semaphore"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type SessionSearch } from "@pi-sessions/catalog/SessionSearch"
import { type RedactionSettings } from "@pi-sessions/extract/ExtractOptions"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type SessionStore } from "@pi-sessions/store/SessionStore"
import { type StoreLock } from "@pi-sessions/store/StoreLock"
import { keyOf } from "./SessionKey.ts"
import { ViewFailed, type ViewNotFound, orNotFound } from "./ViewError.ts"
import { MOST_AT_ONCE, WHOLE_BYTES } from "./ViewLimits.ts"
import type * as ViewModel from "./ViewModel.ts"
import { type TreeOptions } from "./ViewQuestion.ts"
import { ListedSessions } from "./internal/ListedSessions.ts"
import * as OpenSessions from "./internal/OpenSessions.ts"
import { indexOf } from "./internal/ViewedEntry.ts"
import { branchEndOf, branchRanges } from "./internal/branches.ts"
import { datasetPage } from "./internal/datasetPage.ts"
import { entryRows, pictureOf } from "./internal/entryRow.ts"
import { readMarks, setMark } from "./internal/marksFile.ts"
import { sampleLines } from "./internal/sampleLines.ts"
import { samplesPage } from "./internal/samplesPage.ts"
import { searchHits } from "./internal/searchHits.ts"
import { sessionHealth } from "./internal/sessionHealth.ts"
import { sessionPage } from "./internal/sessionPage.ts"
import { sessionRows, summaries } from "./internal/sessionRows.ts"
import { TreeRowCache } from "./internal/treeRows.ts"

export interface ViewerOptions {
  readonly version: string
  readonly sessions: ReadonlyArray<CatalogSession>
  /** Why sessions are missing from the list; "" if none are. */
  readonly note: string
  /** The first page. */
  readonly begin: "sessions" | "session" | "dataset"
  /** Directory of a dataset. */
  readonly dataset?: string | undefined
  readonly redaction: RedactionSettings | "off"
  /** Whether pictures are shown; they cannot be redacted. */
  readonly withPictures: boolean
  /** File of marks. Default: marks cannot be set. */
  readonly marksFile?: string | undefined
  /** Format of the samples beside a session. */
  readonly format: FormatName
}

type Failure = ViewNotFound | ViewFailed
type Needs = FileSystem.FileSystem | Path.Path | SessionSource | SessionSearch | SessionStore | StoreLock

export class Viewer extends Context.Service<
  Viewer,
  {
    readonly home: Effect.Effect<ViewModel.Home>
    readonly sessions: Effect.Effect<ReadonlyArray<ViewModel.SessionRow>>
    /** Reads the sessions' beginnings; unknown keys are left out. */
    readonly summaries: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ViewModel.SessionSummary>>
    /** Opens the session again if its file has changed. */
    readonly session: (key: string) => Effect.Effect<ViewModel.SessionPage, Failure>
    /** The entries from the root to `leaf` that pass the filter. */
    readonly branch: (
      key: string,
      leaf: number,
      filter: ViewModel.EntryFilter
    ) => Effect.Effect<ViewModel.Ranges, Failure>
    /** `whole` omits nothing. Default: false. */
    readonly entries: (
      key: string,
      ranges: ViewModel.Ranges,
      options?: { readonly whole?: boolean }
    ) => Effect.Effect<ReadonlyArray<ViewModel.EntryRow>, Failure>
    readonly tree: (
      key: string,
      options: TreeOptions & { readonly from: number; readonly count: number }
    ) => Effect.Effect<ViewModel.TreePage, Failure>
    readonly picture: (key: string, entry: number, picture: number) => Effect.Effect<ViewModel.Picture, Failure>
    /** The index of the entry with that id; the one in the tree if several share the id. */
    readonly find: (key: string, entryId: string) => Effect.Effect<number, Failure>
    /** The end of the branch to show an entry on: see internal/branches.ts. */
    readonly end: (key: string, entry: number, leaf: number) => Effect.Effect<number, Failure>
    /** In one session, or in all. */
    readonly search: (text: string, key?: string) => Effect.Effect<ViewModel.Hits, Failure>
    readonly samples: (key: string) => Effect.Effect<ViewModel.SamplesPage, Failure>
    readonly health: (key: string) => Effect.Effect<ViewModel.SessionHealth, Failure>
    readonly dataset: Effect.Effect<ViewModel.DatasetPage, Failure>
    readonly lines: (file: string, from: number, count: number) => Effect.Effect<ViewModel.SampleLines, Failure>
    readonly marks: Effect.Effect<ViewModel.Marks, Failure>
    /** Sets or removes a mark; returns all marks. */
    readonly mark: (request: ViewModel.MarkRequest) => Effect.Effect<ViewModel.Marks, Failure>
  }
>()("@pi-sessions/viewer/Viewer") {
  static readonly layer = (options: ViewerOptions): Layer.Layer<Viewer, never, Needs> =>
    Layer.effect(
      Viewer,
      Effect.suspend(() => make(options))
    )
}

const make = Effect.fnUntraced(function* (options: ViewerOptions) {
  const services = yield* Effect.context<Needs>()
  const listed = new ListedSessions(options.sessions, options.redaction)
  const open = yield* OpenSessions.make(listed)
  const home = homeOf(options, listed)
  // Opens the first session before the browser asks for it.
  if (home.begin.page === "session") yield* Effect.forkScoped(Effect.ignore(open.use(home.begin.key, () => undefined)))
  return Viewer.of({
    home: Effect.succeed(home),
    sessions: Effect.sync(() => sessionRows(listed)),
    summaries: (keys) => Effect.provideContext(summaries(listed, keys), services),
    ...sessionAnswers(open, options.withPictures),
    session: Effect.fnUntraced(function* (key) {
      const { sizeBytes } = yield* listed.get(key)
      yield* open.refresh(key)
      return yield* open.use(key, (session) => sessionPage(key, session, sizeBytes > WHOLE_BYTES))
    }),
    search: Effect.fnUntraced(function* (text, key) {
      const sessions = key === undefined ? options.sessions : [yield* listed.get(key)]
      return yield* Effect.mapError(searchHits(open, sessions, text), ({ message }) => new ViewFailed({ message }))
    }, Effect.provideContext(services)),
    samples: (key) => Effect.provideContext(samplesPage(listed, key, options), services),
    health: (key) => Effect.provideContext(sessionHealth(listed, key), services),
    ...datasetAnswers(listed, options.dataset, services),
    ...(yield* markAnswers(listed, options.marksFile, services))
  })
})

const homeOf = (options: ViewerOptions, listed: ListedSessions): ViewModel.Home => {
  const { begin, dataset, marksFile, note, sessions, version } = options
  return {
    version,
    begin: begin === "session" ? firstSession(sessions) : { page: begin },
    sessions: sessions.length,
    note,
    hasDataset: dataset !== undefined,
    isRedacted: listed.redactor !== undefined,
    marksFile: marksFile === undefined ? null : listed.redact(marksFile)(marksFile)
  }
}

const firstSession = ([first]: ReadonlyArray<CatalogSession>): ViewModel.Home["begin"] =>
  first === undefined ? { page: "sessions" } : { page: "session", key: keyOf(first.path) }

/** Answers from one open session. */
const sessionAnswers = (open: OpenSessions.OpenSessions, withPictures: boolean) => {
  const trees = new TreeRowCache()
  return {
    branch: (key: string, leaf: number, filter: ViewModel.EntryFilter) =>
      open.use(key, (session) => branchRanges(session, leaf, filter)),
    entries: (key: string, ranges: ViewModel.Ranges, { whole = false } = {}) =>
      open.use(key, (session) => entryRows(session, ranges, { whole, withPictures })),
    tree: (key: string, options: TreeOptions & { readonly from: number; readonly count: number }) =>
      open.use(key, (session) => trees.page(session, options)),
    picture: (key: string, entry: number, picture: number) =>
      Effect.flatMap(
        open.use(key, ({ entries }) => {
          const found = entries[entry]
          return found === undefined || !withPictures ? undefined : pictureOf(found, picture)
        }),
        (found) => orNotFound(found, "no such picture is shown here")
      ),
    find: (key: string, entryId: string) =>
      Effect.flatMap(
        open.use(key, ({ tree }) => indexOf(tree.getEntry(entryId))),
        (index) => orNotFound(index, "no such entry is in the session")
      ),
    end: (key: string, entry: number, leaf: number) => open.use(key, (session) => branchEndOf(session, entry, leaf))
  }
}

const datasetAnswers = (listed: ListedSessions, directory: string | undefined, services: Context.Context<Needs>) => {
  const given = orNotFound(directory, "no dataset is shown here")
  return {
    dataset: Effect.flatMap(given, (directory) =>
      datasetPage(listed, directory).pipe(Effect.mapError(listed.failed(directory)), Effect.provideContext(services))
    ),
    lines: Effect.fnUntraced(function* (file: string, from: number, count: number) {
      const directory = yield* given
      const lines = yield* sampleLines(directory, listed.redactor, file, from, Math.min(count, MOST_AT_ONCE)).pipe(
        Effect.mapError(listed.failed(directory))
      )
      return yield* orNotFound(lines, "no such file is in the dataset")
    }, Effect.provideContext(services))
  }
}

const markAnswers = Effect.fnUntraced(function* (
  listed: ListedSessions,
  file: string | undefined,
  services: Context.Context<Needs>
) {
  const writing = yield* Semaphore.make(1)
  if (file === undefined) {
    return {
      marks: Effect.succeed({}),
      mark: () => Effect.fail(new ViewFailed({ message: "marks are not kept here" }))
    }
  }
  const failed = listed.failed(file)
  return {
    marks: readMarks(file).pipe(Effect.mapError(failed), Effect.provideContext(services)),
    mark: (request: ViewModel.MarkRequest) =>
      setMark(file, request).pipe(Effect.mapError(failed), writing.withPermits(1), Effect.provideContext(services))
  }
})
