/** Repaired copies beside their originals. No existing file is overwritten. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as SessionRepair from "@pi-sessions/catalog/SessionRepair"
import * as Session from "@pi-sessions/core/Session"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { fromPlatform } from "@pi-sessions/session-file/SessionFileError"

const nameOf = (original: string, number: number): string => {
  const stem = original.endsWith(".jsonl") ? original.slice(0, -".jsonl".length) : original
  return `${stem}.repaired${number === 1 ? "" : `-${number}`}.jsonl`
}

/**
 * Writes the copy to the first free name, unless a copy with the same bytes exists; gives its path and id. The copy is a
 * session with its own id, and names the original as its parent.
 */
export const write = Effect.fnUntraced(function* (original: string, repaired: Session.Session) {
  const fs = yield* FileSystem.FileSystem
  const { basename } = yield* Path.Path
  const isSame = Effect.fnUntraced(function* (target: string, session: Session.Session) {
    const bytes = yield* fs.readFile(target)
    let at = 0
    for (const piece of Session.print(session.lines)) {
      if (Buffer.compare(piece, bytes.subarray(at, at + piece.length)) !== 0) return false
      at += piece.length
    }
    return at === bytes.length
  })
  for (let number = 1; ; number++) {
    const path = nameOf(original, number)
    const { id, session } = SessionRepair.asCopy(repaired, original, basename(path))
    const written = yield* SafeWrite.write(path, Session.print(session.lines), "create").pipe(
      Effect.as(true),
      Effect.catchReason("PlatformError", "AlreadyExists", () => isSame(path, session)),
      Effect.mapError(fromPlatform(path, "write"))
    )
    if (written) return { path, id }
  }
})
