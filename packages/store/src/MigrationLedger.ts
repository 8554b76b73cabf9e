/** The migration ledger of a container: events in order, one checked line each. It is only ever added to. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { type StoreIoError } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import * as MigrationEvent from "./MigrationEvent.ts"
import { AppendLog } from "./internal/AppendLog.ts"
import { readWhole, sizeOf, sync, syncDirectory, withFile } from "./internal/durable.ts"
import * as Quarantine from "./internal/quarantine.ts"

export interface Ledger {
  /** In order. */
  readonly events: ReadonlyArray<MigrationEvent.MigrationEvent>
  /** Bytes of the lines they stand on. */
  readonly byteLength: number
  /** Bytes behind them that are no whole event, as an interrupted append leaves them. */
  readonly trailingBytes: number
}

/** The events as far as they are whole; empty when there is no ledger. */
export const read = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<Ledger, StoreIoError, FileSystem.FileSystem> {
  const bytes = Option.getOrElse(yield* readWhole(layout.ledger), () => Buffer.alloc(0))
  const events: Array<MigrationEvent.MigrationEvent> = []
  let at = 0
  for (;;) {
    const newline = bytes.indexOf(0x0a, at)
    const decoded = newline < 0 ? undefined : MigrationEvent.decode(bytes.subarray(at, newline + 1))
    if (decoded === undefined || Result.isFailure(decoded)) break
    events.push(decoded.success)
    at = newline + 1
  }
  return { events, byteLength: at, trailingBytes: bytes.length - at }
})

/** Whether a migration was told to its end. */
export const isCompleted = (events: ReadonlyArray<MigrationEvent.MigrationEvent>, correlationId: string): boolean =>
  events.some(
    (event) => event.correlation_id === correlationId && event.phase === "completed" && event.outcome === "ok"
  )

/** What an event says besides its schema and time; what is left out is null. */
export type EventInput = Pick<MigrationEvent.MigrationEvent, "session_id" | "correlation_id" | "phase" | "outcome"> &
  Partial<MigrationEvent.MigrationEvent>

/** Adds events durably. Under the writer's lock only; the ledger must not end in a torn line. */
export const append = Effect.fnUntraced(function* (
  layout: StoreLayout,
  inputs: ReadonlyArray<EventInput>
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  if (inputs.length === 0) return
  const path = yield* Path.Path
  const at = new Date(yield* Clock.currentTimeMillis).toISOString()
  const { byteLength, trailingBytes } = yield* read(layout)
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
  const log = new AppendLog(path, layout.ledger, byteLength, byteLength + trailingBytes === 0)
  yield* log.write(Buffer.concat(lines)).pipe(
    Effect.andThen(Effect.suspend(() => log.commit())),
    Effect.tapCause(() => Effect.ignore(log.close))
  )
  yield* log.close
  // A process that died may have made the file and not its name durable.
  yield* syncDirectory(layout.migrations)
}, Effect.uninterruptible)

/** A torn line at the end of the ledger was never acknowledged; there is nothing to tell of it. */
export const cutTorn = Effect.fnUntraced(function* (layout: StoreLayout) {
  const { byteLength, trailingBytes } = yield* read(layout)
  if (trailingBytes === 0) return
  yield* Quarantine.cutOff(layout, layout.ledger, byteLength, byteLength + trailingBytes, "no whole event")
})

/** Makes durable what is read of it, which a process may have written that died before its fsync. */
export const settle = Effect.fnUntraced(function* (
  layout: StoreLayout
): Effect.fn.Return<void, StoreIoError, FileSystem.FileSystem | Path.Path> {
  if (Option.isNone(yield* sizeOf(layout.ledger))) return
  yield* withFile(layout.ledger, "r+", (file) => sync(file, layout.ledger))
  yield* syncDirectory(layout.migrations)
})
