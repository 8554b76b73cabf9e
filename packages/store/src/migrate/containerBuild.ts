/** Filling a container that is being built, and checking what it holds. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import type * as MigrationEvent from "../wire/MigrationEvent.ts"
import { type FrameInput } from "../wire/SegmentFrame.ts"
import { type StoreIoError, type StoreNotFound } from "../StoreError.ts"
import { type StoreLayout } from "../StoreLayout.ts"
import * as StoreReader from "../StoreReader.ts"
import * as StoreVerify from "../StoreVerify.ts"
import * as StoreWriter from "../StoreWriter.ts"
import { FrameAssembler, type FrameExceptions } from "./FrameAssembler.ts"
import { snapshotOf } from "./foreignStore.ts"
import { type MigrateOptions } from "./outcome.ts"
import { type Inspected } from "./sourceSession.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path

/** Bytes of lines that are appended together. */
const GROUP_BYTES = 4 << 20

/** Fills a staging container with a session's bytes, and seals, indexes and checkpoints it. */
export const fill = Effect.fnUntraced(function* (
  layout: StoreLayout,
  sessionId: string,
  bytes: Stream.Stream<Uint8Array, StoreIoError, Needs>,
  exceptions: FrameExceptions,
  options: MigrateOptions
): Effect.fn.Return<void, StoreWriter.AppendError, Needs | Scope.Scope> {
  const writer = yield* StoreWriter.open(layout, sessionId, options)
  yield* appendAll(writer, bytes, exceptions, options.onProgress)
  yield* writer.completeStaging()
}, Effect.scoped)

const appendAll = Effect.fnUntraced(function* (
  writer: StoreWriter.StoreWriter,
  bytes: Stream.Stream<Uint8Array, StoreIoError, Needs>,
  exceptions: FrameExceptions,
  onProgress: MigrateOptions["onProgress"]
) {
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

/** What `check` found, with the names that the ledger uses. */
export interface Checked extends Pick<MigrationEvent.MigrationEvent, "head_entry_id" | "chain_hash"> {
  readonly verification: MigrationEvent.Verification
  /** Why the container must not become active; undefined when it may. */
  readonly reason: string | undefined
}

/** Reads a built container again: the three checks before a cutover, and that it gives back exactly the source's bytes. */
export const check = Effect.fnUntraced(function* (
  layout: StoreLayout,
  { entryCount, snapshot }: Pick<Inspected, "snapshot" | "entryCount">
): Effect.fn.Return<Checked, StoreReader.ReadError | StoreNotFound, Needs> {
  const report = yield* StoreVerify.verify(layout)
  const verification = {
    entry_count_match: report.entryCount === entryCount,
    hash_chain_match: report.hashChainMatch,
    index_consistent: report.indexConsistent
  }
  const [first] = report.findings
  let reason = first === undefined ? undefined : StoreVerify.format(first)
  if (!verification.entry_count_match) reason = `${report.entryCount} entries in place of ${entryCount}`
  if (reason === undefined && (yield* snapshotOfContainer(layout)) !== snapshot.snapshot_id) {
    reason = "the container does not give back the bytes of its source"
  }
  const { head } = report
  return { verification, head_entry_id: head?.entry_id ?? null, chain_hash: head?.chain_hash ?? null, reason }
})

const snapshotOfContainer = Effect.fnUntraced(function* (layout: StoreLayout) {
  const reader = yield* StoreReader.open(layout)
  return (yield* snapshotOf("native_v2", "", Stream.flattenIterable(reader.payloads))).snapshot_id
}, Effect.scoped)
