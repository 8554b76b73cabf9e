/** The files that `doctor` examines: sessions by path or id, and files below directories. A file may lack its header. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import { type OtherFile } from "@pi-sessions/catalog/OtherFile"
import { SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { missingIsUsage } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as SessionPicker from "../../SessionPicker.ts"

export interface NamedSession {
  readonly ref: SessionRef
  /** Given by name, not found in a directory. */
  readonly named: boolean
}

export interface NamedSessions {
  /** By path, each once. */
  readonly sessions: ReadonlyArray<NamedSession>
  /** Files and directories that cannot be read. */
  readonly unread: ReadonlyArray<OtherFile>
}

/** The sessions with these names; without names, the one that the user chooses. */
export const find = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const invocation = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const found = new Map<string, NamedSession>()
  const add = (ref: SessionRef, named: boolean): void => {
    found.set(ref.path, { ref, named: named || found.get(ref.path)?.named === true })
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
    const lost = yield* withoutHeader(other, named.has(other.path))
    if (lost === undefined) unread.push(other)
    else if (lost !== "no session") add(lost, named.has(other.path))
  }
  const inOrder = [...found.values()].sort((a, b) => (a.ref.path < b.ref.path ? -1 : 1))
  return { sessions: inOrder, unread } satisfies NamedSessions
})

const listed = (paths: ReadonlyArray<string>) =>
  missingIsUsage(Effect.flatMap(SessionCatalog, (catalog) => catalog.list({ sessions: paths, useIndex: false })))

/** A file that may be a session without its header; undefined if it cannot be read. */
const withoutHeader = Effect.fnUntraced(function* ({ path, why }: OtherFile, named: boolean) {
  const fs = yield* FileSystem.FileSystem
  if (why === "unread") return undefined
  const info = yield* fs.stat(path).pipe(Effect.option)
  if (Option.isNone(info) || info.value.type !== "File") return undefined
  // A database without a session is not a damaged one.
  if (!named && !path.endsWith(".jsonl")) return "no session" as const
  if (path.endsWith(".sqlite")) return undefined
  const modifiedMs = Option.match(info.value.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
  return { path, sizeBytes: Number(info.value.size), modifiedMs } satisfies SessionRef
})
