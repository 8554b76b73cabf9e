/**
 * One contender of store.bench.ts: appends, `WHICH GROUP ROUNDS DIRECTORY`; `bare` writes and syncs the same bytes. Runs
 * as many rounds before the timed ones, to exclude the start.
 */
import * as Files from "node:fs"
import * as Path from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { report } from "@pi-sessions/testing/Bench"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreLock } from "../../src/StoreLock.ts"

const [which = "", group = "1", rounds = "1", parent = ""] = process.argv.slice(2)
const directory = Files.mkdtempSync(Path.join(parent, "append-"))
const size = Number(group)
const count = Number(rounds)
const hex = (n: number) => n.toString(16).padStart(8, "0")
const groups = Array.from({ length: 2 * count }, (_, round) =>
  Array.from({ length: size }, (_, at) => {
    const n = round * size + at
    const message = {
      role: n % 2 === 0 ? "user" : "assistant",
      content: [{ type: "text", text: "word ".repeat(225) }],
      timestamp: 1_767_600_000_000
    }
    return SessionEntry.make({
      type: "message",
      id: hex(n + 1),
      parentId: n === 0 ? null : hex(n),
      timestamp: "2026-01-05T10:00:00.000Z",
      message
    })
  })
)

if (which === "bare") {
  const pieces = groups.map((entries) => Buffer.concat(entries.map((entry) => Buffer.from(`${entry.text}\n`))))
  const file = Files.openSync(Path.join(directory, "bare"), "w")
  const append = (pieces: ReadonlyArray<Buffer>) => {
    for (const piece of pieces) {
      Files.writeSync(file, piece)
      Files.fsyncSync(file)
    }
  }
  append(pieces.slice(0, count))
  await report(() => append(pieces.slice(count)))
} else {
  const header = HeaderLine.make({
    type: "session",
    version: 3,
    id: "bench",
    timestamp: "2026-01-05T10:00:00.000Z",
    cwd: "/"
  })
  const appendAll = Effect.gen(function* () {
    const store = yield* SessionStore
    const writer = yield* store.create(directory, header)
    const append = (groups: ReadonlyArray<ReadonlyArray<SessionEntry>>) =>
      Effect.forEach(groups, (entries) => writer.appendAll(entries), { discard: true })
    yield* append(groups.slice(0, count))
    yield* Effect.promise(() => report(() => Effect.runPromise(append(groups.slice(count)))))
  })
  await Effect.runPromise(
    appendAll.pipe(
      Effect.scoped,
      Effect.provide(SessionStore.layer),
      Effect.provide(StoreLock.layer),
      Effect.provide(Sqlite.layer),
      Effect.provide(NodeServices.layer)
    )
  )
}
