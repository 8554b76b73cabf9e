/** Reads a segment frame by frame. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { type FoundFrame, decode } from "../wire/SegmentFrame.ts"
import { type StoreIoError } from "../StoreError.ts"
import { FileWindow } from "./FileWindow.ts"

/** End of a scan: after the last accepted frame. `damage` is the reason when that is not the end of the file. */
export interface ScanEnd {
  readonly offset: number
  readonly damage: string | undefined
}

/** Called with a frame, its buffer (valid only during the call), and its offset in the file. Returns why it is refused. */
export type Visit = (bytes: Buffer, found: FoundFrame, byteOffset: number) => string | undefined

/** Calls `visit` for each frame in bytes `from` to `size` of the file, until it refuses a frame. */
export const scanSegment = (
  file: FileSystem.File,
  path: string,
  from: number,
  size: number,
  visit: Visit
): Effect.Effect<ScanEnd, StoreIoError> => scanWindow(new FileWindow(file, path, from, size), visit)

/** As `scanSegment`, from the window's position on. Leaves the window at the end of the scan. */
export const scanWindow = Effect.fnUntraced(function* (
  window: FileWindow,
  visit: Visit
): Effect.fn.Return<ScanEnd, StoreIoError> {
  for (;;) {
    const { offset } = window
    const decoded = decode(window.bytes, window.at, window.filled)
    if (decoded._tag === "Frame") {
      const refused = visit(window.bytes, decoded, offset)
      if (refused !== undefined) return { offset, damage: refused }
      window.at = decoded.end
    } else if (decoded._tag === "Damaged") {
      return { offset, damage: decoded.reason }
    } else if (offset + decoded.bytesNeeded > window.size) {
      return { offset, damage: offset === window.size ? undefined : "the file ends within a frame" }
    } else if (!(yield* window.more(decoded.bytesNeeded))) {
      return { offset, damage: "the file ends within a frame" }
    }
  }
})
