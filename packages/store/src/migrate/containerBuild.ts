/** A container on its way to be the active store: filled from a session's bytes, and read again. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import type * as MigrationEvent from "../wire/MigrationEvent.ts"
import { type FrameInput } from "../wire/SegmentFrame.ts"
import { type StoreIoError, type StoreNotFound } from "../StoreError.ts"
import type * as StoreLayout from "../StoreLayout.ts"
import * as StoreReader from "../StoreReader.ts"
import * as StoreVerify from "../StoreVerify.ts"
import type * as StoreWriter from "../StoreWriter.ts"
import { type Snapshot } from "../wire/WireField.ts"
import { FrameAssembler, type FrameExceptions } from "./FrameAssembler.ts"
import { snapshotOf } from "./foreignStore.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path

/** Bytes of lines appended together while a container is built. */
const GROUP_BYTES = 4 << 20

/** Appends a session's bytes to a container, a group of lines at a time. */
export const fill = Effect.fnUntraced(function* (
  writer: StoreWriter.StoreWriter,
  bytes: Stream.Stream<Uint8Array, StoreIoError, Needs>,
  exceptions: FrameExceptions,
  onProgress: ((bytes: number) => Effect.Effect<void>) | undefined
): Effect.fn.Return<void, StoreWriter.AppendError, Needs> {
  const assembler = new FrameAssembler(exceptions)
  let group: Array<FrameInput> = []
  let groupBytes = 0
  let total = 0
  const put = Effect.fnUntraced(function* (inputs: ReadonlyArray<FrameInput>, atEnd: boolean) {
    for (const input of inputs) {
      group.push(input)
      groupBytes += input.payload.length
    }
    if (group.length === 0 || (!atEnd && groupBytes < GROUP_BYTES)) return
    const full = group
    group = []
    groupBytes = 0
    yield* writer.appendLines(full)
    if (onProgress !== undefined) yield* onProgress(total)
  })
  yield* Stream.runForEach(bytes, (chunk) => {
    total += chunk.length
    return put(assembler.push(chunk), false)
  })
  yield* put(assembler.end(), true)
})

/** The three checks before a cutover, on the container read again, and that it gives back the source's bytes. */
export const check = Effect.fnUntraced(function* (
  layout: StoreLayout.StoreLayout,
  found: { readonly snapshot: Snapshot; readonly entryCount: number }
): Effect.fn.Return<
  {
    readonly verification: MigrationEvent.Verification
    readonly head: { readonly head_entry_id: string | null; readonly chain_hash: string | null }
    readonly reason: string | undefined
  },
  StoreReader.ReadError | StoreNotFound,
  Needs
> {
  const report = yield* StoreVerify.verify(layout)
  const verification = {
    entry_count_match: report.entryCount === found.entryCount,
    hash_chain_match: report.hashChainMatch,
    index_consistent: report.indexConsistent
  }
  const [first] = report.findings
  let reason = first === undefined ? undefined : StoreVerify.format(first)
  if (!verification.entry_count_match) reason = `${report.entryCount} entries in place of ${found.entryCount}`
  if (reason === undefined) {
    const held = yield* Effect.scoped(
      Effect.flatMap(StoreReader.open(layout), (reader) =>
        snapshotOf("native_v2", "", Stream.flattenIterable(reader.payloads))
      )
    )
    if (held.snapshot_id !== found.snapshot.snapshot_id) {
      reason = "the container does not give back the bytes of its source"
    }
  }
  const head = { head_entry_id: report.head?.entry_id ?? null, chain_hash: report.head?.chain_hash ?? null }
  return { verification, head, reason }
})
