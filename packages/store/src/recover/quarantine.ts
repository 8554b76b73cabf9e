/**
 * Keeps bytes that recovery cuts off in `quarantine/<file>.<offset>.<digest>`, with the reason in `... .reason.json`. The
 * names follow from the content, so a repetition after a crash writes the same files.
 */
import { hash } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { type StoreIoError, fromPlatform } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import { makeDirectory, readAt, replaceFile, sync, syncDirectory, withFile } from "../files/durable.ts"

/** Maximal bytes of one quarantined piece. */
const PIECE_BYTES = 64 << 20

/** Copies the bytes of `file` from `offset` to `size` to quarantine and then cuts them off, durably. */
export const cutOff = Effect.fnUntraced(function* (
  layout: StoreLayout,
  file: string,
  offset: number,
  size: number,
  reason: string
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  yield* keep(layout, file, offset, size, reason)
  yield* withFile(file, "r+", (handle) =>
    handle.truncate(offset).pipe(Effect.mapError(fromPlatform(file, "shorten")), Effect.andThen(sync(handle, file)))
  )
})

/** Copies the bytes of `file` from `offset` to `size` to quarantine. */
export const keep = Effect.fnUntraced(function* (
  layout: StoreLayout,
  file: string,
  offset: number,
  size: number,
  reason: string
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  yield* makeDirectory(layout.quarantine)
  for (let from = offset; from < size; from += PIECE_BYTES) {
    const bytes = yield* withFile(file, "r", (handle) => readAt(handle, file, from, Math.min(PIECE_BYTES, size - from)))
    const name = `${path.basename(file)}.${from}.${hash("sha256", bytes, "hex").slice(0, 12)}`
    const target = path.join(layout.quarantine, name)
    const note = { file: path.relative(layout.container, file), byte_offset: from, byte_length: bytes.length, reason }
    yield* replaceFile(path.join(layout.tmp, name), target, bytes)
    yield* replaceFile(
      path.join(layout.tmp, `${name}.reason.json`),
      `${target}.reason.json`,
      Buffer.from(`${JSON.stringify(note)}\n`)
    )
  }
  yield* syncDirectory(layout.quarantine)
})
