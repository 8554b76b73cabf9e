/** Reads the entries of a session, from a file, a container or a database. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { CatalogSession } from "../../CatalogSession.ts"
import { type SearchFiles } from "../../SearchFiles.ts"
import { BranchMap } from "./BranchMap.ts"
import { EntryFinder, type OnEntry } from "./EntryFinder.ts"
import { type Needle } from "./needle.ts"
import { NEWLINE, type OnLongLine, type PieceMemory, forEachPiece } from "./wholeLines.ts"

/** What a search reads with. */
export interface Readers {
  readonly files: SearchFiles["Service"]
  readonly source: SessionSource["Service"]
  readonly memories: PieceMemory
}

/** Calls `onEntry` for every entry that may match, in file order. Only files are filtered by `needles`. */
export const forEachCandidate = (
  { files, memories, source }: Readers,
  session: CatalogSession,
  needles: ReadonlyArray<Needle>,
  onEntry: OnEntry,
  onLongLine: OnLongLine
): Effect.Effect<void, SessionFileError> => {
  if (session.format === "jsonl") {
    const finder = new EntryFinder(needles, onEntry)
    return forEachPiece(files, session.path, memories, (piece) => finder.push(piece), onLongLine)
  }
  return forEachLine(source, session, (line) => {
    if (line instanceof SessionEntry) onEntry(line, line.byteOffset)
  })
}

/** Reads a whole session for the positions of its entries. */
export const branchesOf = (
  { files, memories, source }: Readers,
  session: CatalogSession,
  withModels: boolean
): Effect.Effect<BranchMap, SessionFileError> => {
  const map = new BranchMap(withModels)
  if (session.format !== "jsonl") {
    return Effect.as(
      forEachLine(source, session, (line) => map.push(line)),
      map
    )
  }
  const reader = new SessionReader()
  let read = 0
  return Effect.as(
    forEachPiece(files, session.path, memories, ({ end, fileOffset, memory }) => {
      const moved = fileOffset - read
      read += end
      for (const line of reader.push(memory.bytes.subarray(0, end))) map.push(line, moved)
      if (memory.bytes[end - 1] !== NEWLINE) for (const line of reader.end()) map.push(line, moved)
    }),
    map
  )
}

const forEachLine = (
  source: SessionSource["Service"],
  session: CatalogSession,
  onLine: (line: SessionLine) => void
): Effect.Effect<void, SessionFileError> =>
  Stream.runForEachArray(source.lines(session), (lines) => Effect.sync(() => lines.forEach((line) => onLine(line))))
