/** What a call of `view` is about: the sessions to list, and the dataset where it is one. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import * as SessionReference from "@pi-sessions/catalog/SessionReference"
import { type ViewerOptions } from "@pi-sessions/viewer/Viewer"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { type Input } from "../view.ts"

export type Subject = Pick<ViewerOptions, "sessions" | "note" | "begin" | "dataset">

/** Whether a directory is one that extract wrote. */
const isDataset = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(path.join(directory, "report.json")), () => "")
  return /"kind":\s*"pi-sessions\/extract-report\//u.test(text.slice(0, 200))
})

const listed = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  const invocation = yield* Invocation
  const catalog = yield* SessionCatalog
  const { others, roots, sessions } = yield* catalog
    // The index does not know which session is a fork, which a search has to.
    .list({ sessions: given, cwd: invocation.cwd, readHeaders: true })
    .pipe(
      Effect.mapError((error) =>
        error._tag === "SessionFileError" && error.reason === "no such file or directory"
          ? new UsageError({ text: error.message })
          : new CommandFailed({ text: error.message })
      )
    )
  const files = others.length === 1 ? "1 file is no session" : `${others.length} files are no sessions`
  const note = others.length === 0 ? "" : `${files} or could not be read; pi-sessions list --others names them`
  return { roots, sessions, note }
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
    const places = found.roots.map(({ path }) => path).join(", ")
    const where = places === "" ? "there is no directory of sessions" : `searched ${places}`
    return yield* new UsageError({ text: `no session found: ${where}; give the path of one, or a directory` })
  }
  return { sessions: found.sessions, note: found.note, begin: "sessions" } satisfies Subject
})
