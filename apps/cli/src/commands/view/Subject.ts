/** The sessions and the dataset that a call of `view` shows. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import * as SessionReference from "@pi-sessions/catalog/SessionReference"
import { type ViewerOptions } from "@pi-sessions/viewer/Viewer"
import { UsageError, missingIsUsage } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as CatalogNotes from "../../print/CatalogNotes.ts"
import { type Input } from "../view.ts"

export type Subject = Pick<ViewerOptions, "sessions" | "note" | "begin" | "dataset">

/** Whether extract wrote the directory. */
const isDataset = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(path.join(directory, "report.json")), () => "")
  return /"kind":\s*"pi-sessions\/extract-report\//u.test(text.slice(0, 200))
})

const listed = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  const { cwd } = yield* Invocation
  const catalog = yield* SessionCatalog
  // The index does not say which session is a fork, which a search needs.
  const found = yield* missingIsUsage(catalog.list({ sessions: given, cwd, readHeaders: true }))
  return { ...found, note: CatalogNotes.others(found) }
})

export const find = Effect.fnUntraced(function* (input: Input) {
  const fs = yield* FileSystem.FileSystem
  const invocation = yield* Invocation
  const what = Option.getOrUndefined(input.what)
  const at = what === undefined ? undefined : invocation.resolve(what)
  const info = at === undefined ? Option.none() : yield* Effect.option(fs.stat(at))
  const isDirectory = Option.isSome(info) && info.value.type === "Directory"
  if (at !== undefined && isDirectory && (yield* isDataset(at))) {
    const beside = input.sessions.length === 0 ? { sessions: [], note: "" } : yield* listed(input.sessions)
    const { note, sessions } = beside
    return { sessions, note, begin: "dataset", dataset: at } satisfies Subject
  }
  if (what !== undefined && !(isDirectory && !what.endsWith(".v2"))) {
    const { cwd } = invocation
    const session = yield* SessionReference.resolve(what, { sessions: input.sessions, cwd }).pipe(
      Effect.mapError((error) => new UsageError({ text: error.message }))
    )
    return { sessions: [session], note: "", begin: "session" } satisfies Subject
  }
  const found = yield* listed(what === undefined ? input.sessions : [what, ...input.sessions])
  if (found.sessions.length === 0) {
    return yield* new UsageError({
      text: `no session found: ${CatalogNotes.searched(found)}; give the path of one, or a directory`
    })
  }
  return { sessions: found.sessions, note: found.note, begin: "sessions" } satisfies Subject
})
