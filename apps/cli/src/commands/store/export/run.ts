/** `pi-sessions store export` */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { type SessionFileError, explain } from "@pi-sessions/session-file/SessionFileError"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import * as StoreSalvage from "@pi-sessions/store/StoreSalvage"
import * as StoreReader from "@pi-sessions/store/StoreReader"
import { CommandFailed, UsageError } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import { writeNew } from "./StreamedFile.ts"
import { type FoundStore, bytesOf, nothing, search, storeBeside } from "../StoreSearch.ts"
import * as StoreServices from "../StoreServices.ts"

export interface Input {
  readonly session: string
  readonly out: string
  readonly force: boolean
  readonly salvage: boolean
  readonly json: boolean
}

interface Opened {
  readonly from: string
  readonly bytes: Stream.Stream<Uint8Array, SessionFileError | StoreReader.ReadError, FileSystem.FileSystem | Sqlite>
}

/** What is whole of a container, whatever its marker, manifest and index say; what is not goes to `lost`. */
const salvaged = Effect.fnUntraced(function* (given: string, lost: Array<StoreSalvage.Lost>) {
  const path = yield* Path.Path
  const found = yield* search([given])
  const file = found.files.find(({ named }) => named)
  const named = found.retired[0] ?? found.stores.find(({ named }) => named)
  const store = named ?? (file === undefined ? undefined : yield* storeBeside(file))
  if (store === undefined) return yield* nothing("no container to salvage", [given], found.skipped, [])
  const bytes = StoreSalvage.salvage(StoreLayout.of(path, store.container)).pipe(
    Stream.map((segment) => {
      lost.push(...segment.lost)
      return Buffer.concat(segment.lines)
    })
  )
  return { from: store.container, bytes }
})

/** A session's bytes from its active store, and where that is. */
const openSession = Effect.fnUntraced(function* (given: string) {
  const path = yield* Path.Path
  const sessionStore = yield* SessionStore
  const found = yield* search([given])
  const [aside] = found.retired
  if (aside !== undefined) {
    const reader = yield* StoreReader.open(StoreLayout.of(path, aside.container))
    return { from: aside.container, bytes: Stream.map(reader.payloads, joined) }
  }
  const file = found.files.find(({ named }) => named)
  const store: FoundStore | undefined =
    found.stores.find(({ named }) => named) ?? (file === undefined ? undefined : yield* storeBeside(file))
  if (store === undefined && file === undefined) {
    const inside = found.stores.length + found.files.length
    return yield* inside > 0
      ? new UsageError({
          text: `${given} is a directory with ${StoreServices.counted(inside, "session")}; name one session`
        })
      : nothing("no session to export", [given], found.skipped, [])
  }
  const active = store === undefined ? undefined : yield* sessionStore.active(store.location)
  if (store !== undefined && active !== undefined && active.active !== "native_v2") {
    const from = { path: path.resolve(store.location.directory, active.path), format: active.active }
    return { from: from.path, bytes: bytesOf(from) }
  }
  if (store !== undefined && (active !== undefined || file === undefined)) {
    const reader = yield* sessionStore.reader(store.location)
    return { from: store.container, bytes: Stream.map(reader.payloads, joined) }
  }
  if (file === undefined || store === undefined) {
    return yield* new UsageError({ text: `${given}: not a Pi session` })
  }
  return { from: file.path, bytes: bytesOf(file) }
})

export const run = Effect.fnUntraced(
  function* (input: Input) {
    const invocation = yield* Invocation
    const toStdout = input.out === "-"
    if (toStdout && input.json) {
      return yield* new UsageError({ text: "the session itself goes to standard output; --json needs --out FILE" })
    }
    if (input.out === "")
      return yield* new UsageError({ text: "--out is empty; give a file, or - for standard output" })
    const stdio = yield* Stdio.Stdio
    const given = invocation.resolve(input.session)
    const lost: Array<StoreSalvage.Lost> = []
    const { from, bytes }: Opened = yield* input.salvage ? salvaged(given, lost) : openSession(given)
    const tellLost = Effect.suspend(() =>
      Effect.forEach(
        lost,
        (gap) => invocation.note(`lost: ${gap.path}, bytes ${gap.byteOffset} to ${gap.end}: ${gap.reason}`),
        { discard: true }
      )
    )
    let length = 0
    const counted = Stream.map(bytes, (chunk) => {
      length += chunk.length
      return chunk
    })
    if (toStdout) {
      // Who reads us may have enough (head): that is no failure.
      return yield* Stream.run(counted, stdio.stdout({ endOnDone: false })).pipe(
        Effect.catchReason("PlatformError", "Unknown", (reason, error) =>
          isBrokenPipe(reason.cause) ? Effect.void : Effect.fail(error)
        ),
        Effect.andThen(tellLost)
      )
    }
    const target = invocation.resolve(input.out)
    const movedAside = yield* writeNew(target, counted, input.force)
    yield* tellLost
    if (movedAside !== undefined) yield* invocation.note(`what was there is now ${movedAside}`)
    yield* invocation.note(`wrote ${StoreServices.counted(length, "byte")} of ${from}`)
    yield* invocation.result(
      input.json
        ? JSON.stringify(
            {
              path: target,
              from,
              bytes: length,
              ...(movedAside === undefined ? {} : { movedAside }),
              ...(input.salvage ? { lost } : {})
            },
            null,
            2
          )
        : target
    )
  },
  Effect.scoped,
  Effect.mapError((error) => {
    if (error._tag === "UsageError" || error._tag === "CommandFailed") return error
    return new CommandFailed({ text: error._tag === "PlatformError" ? explain(error) : error.message })
  }),
  Effect.provide(StoreServices.layer)
)

/** A batch as one piece to write; a long line comes by itself, and is not copied. */
const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = pieces
  return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces)
}

const isBrokenPipe = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "EPIPE"
