/** Runs `store export`. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { type SessionFileError, explain } from "@pi-sessions/session-file/SessionFileError"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import * as StoreSalvage from "@pi-sessions/store/StoreSalvage"
import * as StoreReader from "@pi-sessions/store/StoreReader"
import { CommandFailed, UsageError } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import * as FlagCheck from "../../../flags/FlagCheck.ts"
import * as ResultPrinter from "../../../print/ResultPrinter.ts"
import { counted } from "../../../print/Words.ts"
import { type ExportInput } from "../../store.ts"
import { writeNew } from "./StreamedFile.ts"
import { type FoundStore, bytesOf, nothing, search, storeBeside } from "../StoreSearch.ts"
import * as StoreServices from "../StoreServices.ts"

interface Opened {
  readonly from: string
  readonly bytes: Stream.Stream<Uint8Array, SessionFileError | StoreReader.ReadError, FileSystem.FileSystem | Sqlite>
}

/** Every whole line of a container, without its marker, manifest and index; adds what is damaged to `lost`. */
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

/** A session's bytes from its active store, and the path of that store. */
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
          text: `${given} is a directory with ${counted(inside, "session")}; name one session`
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

const check = ({ json, out }: ExportInput) =>
  FlagCheck.all(
    out === "-" && json
      ? new UsageError({ text: "the session itself goes to standard output; --json needs --out FILE" })
      : undefined,
    FlagCheck.empty({ "--out": out }, "give a file, or - for standard output")
  )

export const run = Effect.fnUntraced(
  function* (input: ExportInput) {
    yield* check(input)
    const invocation = yield* Invocation
    const given = invocation.resolve(input.session)
    const lost: Array<StoreSalvage.Lost> = []
    const { from, bytes }: Opened = yield* input.salvage ? salvaged(given, lost) : openSession(given)
    const noteLost = Effect.suspend(() =>
      Effect.forEach(
        lost,
        (gap) => invocation.note(`lost: ${gap.path}, bytes ${gap.byteOffset} to ${gap.end}: ${gap.reason}`),
        { discard: true }
      )
    )
    if (input.out === "-") return yield* Effect.andThen(ResultPrinter.stream(bytes), noteLost)
    let length = 0
    const measured = Stream.map(bytes, (chunk) => {
      length += chunk.length
      return chunk
    })
    const path = invocation.resolve(input.out)
    const movedAside = yield* writeNew(path, measured, input.force)
    yield* noteLost
    if (movedAside !== undefined) yield* invocation.note(`what was there is now ${movedAside}`)
    yield* invocation.note(`wrote ${counted(length, "byte")} of ${from}`)
    const aside = movedAside === undefined ? {} : { movedAside }
    const result = { path, from, bytes: length, ...aside, ...(input.salvage ? { lost } : {}) }
    yield* invocation.result(input.json ? JSON.stringify(result, null, 2) : path)
  },
  Effect.scoped,
  Effect.catchTag("PlatformError", (error) => Effect.fail(new CommandFailed({ text: explain(error) }))),
  Effect.provide(StoreServices.layer)
)

/** Joins a batch to one piece. A long line is a batch of its own and is not copied. */
const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = pieces
  return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces)
}
