/**
 * The files that `doctor` is to look at: sessions by whatever people call them, files and directories. Other than for
 * other commands a file may lack its header.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import { type OtherFile } from "@pi-sessions/catalog/OtherFile"
import { SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as SessionPicker from "../../SessionPicker.ts"

export interface Patient {
  readonly ref: SessionRef
  /** Not merely found in a directory. */
  readonly named: boolean
}

export interface Patients {
  /** In order of path, each once. */
  readonly patients: ReadonlyArray<Patient>
  /** What could not be looked into. */
  readonly unread: ReadonlyArray<OtherFile>
}

/** What a SessionFileError says of a path that is not there. */
const NOT_THERE = "no such file or directory"

/** What the names lead to; without any, what a person chooses. */
export const find = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const invocation = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const patients = new Map<string, Patient>()
  const add = (ref: SessionRef, named: boolean): void => {
    patients.set(ref.path, { ref, named: named || patients.get(ref.path)?.named === true })
  }
  if (names.length === 0) add(yield* SessionPicker.choose(Option.none()), true)
  const paths: Array<string> = []
  for (const name of names) {
    const at = invocation.resolve(name)
    const isPath = /[/\\]/.test(name) || name.endsWith(".jsonl")
    if (isPath || (yield* fs.exists(at).pipe(Effect.orElseSucceed(() => false)))) paths.push(at)
    else add(yield* SessionPicker.choose(Option.some(name)), true)
  }
  const { others, sessions } = paths.length === 0 ? { others: [], sessions: [] } : yield* listed(paths)
  const named = new Set(paths)
  for (const session of sessions) add(session, named.has(session.path))
  const unread: Array<OtherFile> = []
  for (const other of others) {
    const found = yield* withoutHeader(other, named.has(other.path))
    if (found === undefined) unread.push(other)
    else if (found !== "no session") add(found, named.has(other.path))
  }
  const inOrder = [...patients.values()].sort((a, b) => (a.ref.path < b.ref.path ? -1 : 1))
  return { patients: inOrder, unread } satisfies Patients
})

const listed = Effect.fnUntraced(
  function* (paths: ReadonlyArray<string>) {
    const catalog = yield* SessionCatalog
    return yield* catalog.list({ sessions: paths, useIndex: false })
  },
  Effect.catchTag("SessionFileError", (error) => {
    const text = error.message
    return Effect.fail(error.reason === NOT_THERE ? new UsageError({ text }) : new CommandFailed({ text }))
  }),
  Effect.catchTag("ConfigError", (error) => Effect.fail(new CommandFailed({ text: error.message })))
)

/** A file that may be a session which lost its header; undefined for what could not be looked into. */
const withoutHeader = Effect.fnUntraced(function* ({ path, why }: OtherFile, named: boolean) {
  const fs = yield* FileSystem.FileSystem
  if (why === "unread") return undefined
  const info = yield* fs.stat(path).pipe(Effect.option)
  if (Option.isNone(info) || info.value.type !== "File") return undefined
  // A database that holds no session is no damaged one.
  if (!named && !path.endsWith(".jsonl")) return "no session" as const
  if (path.endsWith(".sqlite")) return undefined
  const modifiedMs = Option.match(info.value.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
  return { path, sizeBytes: Number(info.value.size), modifiedMs } satisfies SessionRef
})
