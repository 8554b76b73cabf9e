/**
 * An open session. Of a current session file, only envelopes and byte offsets are in memory; payloads are read on request.
 * Sessions in containers and databases, and files of old versions, are in memory whole.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Fs from "node:fs"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type HeaderLine, SessionEntry, type SessionLine, ValueLine } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { CURRENT_VERSION, versionOf } from "@pi-sessions/core/SessionHeader"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import { type RedactionScope, type Redactor } from "@pi-sessions/redaction/Redactor"
import { NotASession, SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as EntryFilter from "@pi-sessions/report/EntryFilter"
import { shallow } from "@pi-sessions/report/ShownJson"
import { type Redact } from "./ListedSessions.ts"
import { ScopeBuilder } from "./ScopeBuilder.ts"
import { type EntryAccess, ViewedEntry } from "./ViewedEntry.ts"
import { redactedPayload } from "./redactedPayload.ts"

export interface ViewedSession {
  readonly ref: CatalogSession
  /** In the current version, with redacted entries. */
  readonly tree: SessionTree
  /** The header in the file, redacted. */
  readonly header: JsonObject
  readonly entries: ReadonlyArray<ViewedEntry>
  readonly damageByLine: ReadonlyMap<number, ReadonlyArray<SessionDiagnostic>>
  readonly damages: number
  /** Redacts a text about the session. */
  readonly text: Redact
  readonly filterFacts: EntryFilter.FilterFacts
}

/** Small chunks: the memory of large ones is not released at once. */
const CHUNK_BYTES = 1 << 18

/** Opens a session until the scope closes. */
export const open = Effect.fn("viewedSession.open")(function* (
  ref: CatalogSession,
  redactor: Redactor | undefined
): Effect.fn.Return<
  ViewedSession,
  SessionFileError | NotASession,
  FileSystem.FileSystem | SessionSource | Scope.Scope
> {
  if (ref.format === "jsonl") {
    const paged = yield* openPaged(ref, redactor)
    if (paged !== undefined) return paged
  }
  const source = yield* SessionSource
  const whole = yield* source.read(ref)
  const scope = new ScopeBuilder(ref, redactor)
  const header = whole.header?.decode() ?? {}
  scope.header(header)
  for (const entry of whole.tree.getEntries()) scope.push(entry)
  const session = SessionMigration.toCurrent(whole)
  const access = new SessionAccess(undefined)
  const entries = session.tree.getEntries().map((entry, index) => new ViewedEntry(entry, index, access))
  const last = session.lines.findLastIndex((line) => line instanceof SessionEntry)
  const after = session.lines.slice(last + 1)
  return assemble(ref, { header, entries, after, diagnostics: session.diagnostics, access, scope: scope.scope() })
})

/** Redacts by `scope` and `tree`, which are set when the whole session is known. */
class SessionAccess implements EntryAccess {
  readonly read: EntryAccess["read"]
  scope: RedactionScope | undefined
  tree: SessionTree | undefined

  constructor(read: EntryAccess["read"]) {
    this.read = read
  }

  redact(payload: JsonObject): JsonObject {
    const { scope, tree } = this
    // An entry nested too deeply must not make the answer with its neighbours fail.
    const whole = shallow(payload)
    return scope === undefined ? whole : redactedPayload(whole, scope, (id) => tree?.getEntry(id) !== undefined)
  }
}

/** Undefined if the file is of an old version. */
const openPaged = Effect.fnUntraced(function* (ref: CatalogSession, redactor: Redactor | undefined) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fileBytes(ref.path)
  const reader = new SessionReader()
  const scope = new ScopeBuilder(ref, redactor)
  const access = new SessionAccess(file.read)
  const entries: Array<ViewedEntry> = []
  let after: Array<SessionLine> = []
  let header: HeaderLine | undefined
  const take = (lines: ReadonlyArray<SessionLine>): void => {
    for (const line of lines) {
      if (line instanceof SessionEntry) {
        scope.push(line)
        // A ViewedEntry does not hold the chunk that it was read from.
        entries.push(new ViewedEntry(line, entries.length, access))
        after = []
      } else if (line instanceof ValueLine) {
        after.push(line)
      } else if (header === undefined && reader.header !== undefined) {
        header = reader.header
        scope.header(header.decode())
      }
    }
  }
  yield* fs.stream(ref.path, { chunkSize: CHUNK_BYTES }).pipe(
    Stream.mapError(fromPlatform(ref.path, "read")),
    Stream.takeWhile(() => header === undefined || isCurrent(header)),
    Stream.runForEach((chunk) => Effect.sync(() => take(reader.push(chunk))))
  )
  take(reader.end())
  if (reader.header === undefined) return yield* new NotASession({ path: ref.path, line: 1, byteOffset: 0 })
  if (!isCurrent(reader.header)) return undefined
  const { diagnostics } = reader
  return assemble(ref, { header: reader.header.decode(), entries, after, diagnostics, access, scope: scope.scope() })
})

const isCurrent = (header: HeaderLine): boolean => versionOf(header.decode()) === CURRENT_VERSION

/** Reads pieces of a file by one descriptor, so that a new file of that name does not matter. */
const fileBytes = Effect.fnUntraced(function* (path: string) {
  const failed = (cause: unknown) => new SessionFileError({ path, operation: "read", reason: String(cause) })
  const descriptor = yield* Effect.acquireRelease(
    Effect.try({ try: () => Fs.openSync(path, "r"), catch: failed }),
    (descriptor) => Effect.sync(() => Fs.closeSync(descriptor))
  )
  let memory = new Uint8Array(1 << 16)
  /** Reuses the memory of the call before. */
  const read = (byteOffset: number, length: number): Uint8Array => {
    if (memory.length < length) memory = new Uint8Array(Math.max(length, 2 * memory.length))
    let used = 0
    while (used < length) {
      const count = Fs.readSync(descriptor, memory, used, length - used, byteOffset + used)
      if (count === 0) break
      used += count
    }
    return memory.subarray(0, used)
  }
  return { read }
})

interface Read {
  readonly header: JsonObject
  readonly entries: ReadonlyArray<ViewedEntry>
  /** Lines after the last entry: they decide whether Pi has a leaf. */
  readonly after: ReadonlyArray<SessionLine>
  readonly diagnostics: ReadonlyArray<SessionDiagnostic>
  readonly access: SessionAccess
  readonly scope: RedactionScope | undefined
}

const assemble = (ref: CatalogSession, { after, diagnostics, entries, header, scope, access }: Read): ViewedSession => {
  const session = Session.fromLines([...entries, ...after], diagnostics)
  access.tree = session.tree
  access.scope = scope
  return {
    ref,
    tree: session.tree,
    header: access.redact(header),
    entries,
    damageByLine: Map.groupBy(session.diagnostics, ({ line }) => line),
    damages: session.diagnostics.length,
    text: (text) => scope?.text(text) ?? text,
    filterFacts: filterFacts(session.tree, entries.length)
  }
}

/** Reads each answer at most once. */
const filterFacts = (tree: SessionTree, entries: number): EntryFilter.FilterFacts => {
  const known = new Uint8Array(entries)
  return {
    isLabeled: ({ id }) => id !== null && tree.labels().has(id),
    isOnlyCalls: (entry) => {
      if (!(entry instanceof ViewedEntry)) return false
      if (known[entry.index] === 0) known[entry.index] = EntryFilter.onlyCalls(entry.raw()) ? 1 : 2
      return known[entry.index] === 1
    },
    leaf: tree.getLeafEntry()
  }
}
