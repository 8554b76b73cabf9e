/**
 * The migration ledger of a container: events in order, one checked line each, append-only. A damaged line is kept and
 * skipped. Bytes after the last newline are a torn append; so is a last line with NUL bytes, which were never written.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { type StoreIoError } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import * as MigrationEvent from "./wire/MigrationEvent.ts"
import { AppendLog } from "./files/AppendLog.ts"
import { readWhole, settleName, sizeOf, sync, syncDirectory, withFile } from "./files/durable.ts"
import * as Quarantine from "./recover/quarantine.ts"

/** Contents of a ledger. */
export interface Ledger {
  /** In order. */
  readonly events: ReadonlyArray<MigrationEvent.MigrationEvent>
  /** Complete lines that are damaged, with their positions. */
  readonly skipped: ReadonlyArray<{ readonly byteOffset: number; readonly reason: string }>
  /** Bytes of all kept lines: the position of the next event. */
  readonly byteLength: number
  /** Bytes of a torn append after them. */
  readonly trailingBytes: number
}

/** Reads a ledger; an empty one when there is no file. */
export const read = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<Ledger, StoreIoError, FileSystem.FileSystem> {
  const bytes = Option.getOrElse(yield* readWhole(layout.ledger), () => Buffer.alloc(0))
  const events: Array<MigrationEvent.MigrationEvent> = []
  const skipped: Array<{ readonly byteOffset: number; readonly reason: string }> = []
  let at = 0
  let soundEnd = 0
  for (let newline = bytes.indexOf(0x0a); newline >= 0; newline = bytes.indexOf(0x0a, at)) {
    const decoded = MigrationEvent.decode(bytes.subarray(at, newline + 1))
    if (Result.isSuccess(decoded)) events.push(decoded.success)
    else skipped.push({ byteOffset: at, reason: decoded.failure })
    at = newline + 1
    if (Result.isSuccess(decoded)) soundEnd = at
  }
  const torn = skipped.findIndex(
    ({ byteOffset }, n) =>
      byteOffset >= soundEnd && bytes.subarray(byteOffset, skipped[n + 1]?.byteOffset ?? at).includes(0)
  )
  const byteLength = skipped[torn]?.byteOffset ?? at
  return {
    events,
    skipped: torn < 0 ? skipped : skipped.slice(0, torn),
    byteLength,
    trailingBytes: bytes.length - byteLength
  }
})

/** Whether the ledger has the event `completed` of a migration. */
export const isCompleted = (events: ReadonlyArray<MigrationEvent.MigrationEvent>, correlationId: string): boolean =>
  events.some(
    (event) => event.correlation_id === correlationId && event.phase === "completed" && event.outcome === "ok"
  )

/** An event without schema and time. Omitted fields are null. */
export type EventInput = Pick<MigrationEvent.MigrationEvent, "session_id" | "correlation_id" | "phase" | "outcome"> &
  Partial<MigrationEvent.MigrationEvent>

/** Appends events durably, after cutting off a torn line. Requires the writer's lock. */
export const append = Effect.fnUntraced(function* (
  layout: StoreLayout,
  inputs: ReadonlyArray<EventInput>
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  if (inputs.length === 0) return
  const path = yield* Path.Path
  const at = new Date(yield* Clock.currentTimeMillis).toISOString()
  const { byteLength } = yield* cutTorn(layout)
  const lines = inputs.map((input) =>
    MigrationEvent.encode({
      schema: MigrationEvent.SCHEMA_ID,
      at,
      source: null,
      target: null,
      entry_count: null,
      head_entry_id: null,
      chain_hash: null,
      verification: null,
      reason: null,
      ...input
    })
  )
  const log = new AppendLog(path, layout.ledger, byteLength, byteLength === 0)
  yield* log.write(Buffer.concat(lines)).pipe(
    Effect.andThen(Effect.suspend(() => log.commit())),
    Effect.tapCause(() => Effect.ignore(log.close))
  )
  yield* log.close
  // A dead process may have created the file without making its name durable.
  yield* syncDirectory(layout.migrations)
}, Effect.uninterruptible)

/** Cuts off a torn line at the end. It was never acknowledged, so this is not recorded. */
export const cutTorn = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<Ledger, StoreIoError, FileSystem.FileSystem | Path.Path> {
  const ledger = yield* read(layout)
  const { byteLength, trailingBytes } = ledger
  if (trailingBytes === 0) return ledger
  yield* Quarantine.cutOff(layout, layout.ledger, byteLength, byteLength + trailingBytes, "no whole event")
  return { ...ledger, trailingBytes: 0 }
})

/** Makes the ledger durable: a process may have died between its write and its fsync. */
export const settle = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  if (Option.isNone(yield* sizeOf(layout.ledger))) return
  const path = yield* Path.Path
  yield* withFile(layout.ledger, "r+", (file) => sync(file, layout.ledger))
  yield* settleName(path.join(layout.tmp, "ledger.jsonl"), layout.ledger)
})
