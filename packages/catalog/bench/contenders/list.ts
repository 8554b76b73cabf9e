/** A contender of catalog.bench.ts. Arguments: `WHICH DIRECTORY [warm]`. `DIRECTORY/../names.json` has all names. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Files from "node:fs"
import * as FilesLater from "node:fs/promises"
import * as Path from "node:path"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import { report, reportMedian } from "@pi-sessions/testing/Bench"
import { SessionCatalog } from "../../src/SessionCatalog.ts"

const [which = "", directory = "", warm] = process.argv.slice(2)

const measure = (work: () => unknown): Promise<void> => (warm === "warm" ? reportMedian(work) : report(work))

const found = (): ReadonlyArray<string> =>
  Files.readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => Path.join(directory, name))

const buffer = Buffer.allocUnsafe(512)

const plain = (files: ReadonlyArray<string>): number => {
  let total = 0
  for (const file of files) {
    const descriptor = Files.openSync(file, "r")
    total += Files.readSync(descriptor, buffer, 0, 512, 0)
    Files.closeSync(descriptor)
  }
  return total
}

const later = async (): Promise<number> => {
  let total = 0
  for (const file of found()) {
    const handle = await FilesLater.open(file)
    total += (await handle.read(buffer, 0, 512, 0)).bytesRead
    await handle.close()
  }
  return total
}

const services = SessionStore.layer.pipe(
  Layer.provide(StoreLock.layer),
  Layer.provideMerge(Sqlite.layer),
  Layer.provideMerge(NodeServices.layer)
)

const list = (useIndex: boolean, layer: typeof SessionCatalog.layer) =>
  Effect.flatMap(SessionCatalog, (catalog) => catalog.list({ sessions: [directory], useIndex })).pipe(
    Effect.map(({ sessions }) => {
      if (sessions.length === 0) throw new Error("nothing was listed")
      return sessions
    }),
    Effect.provide(layer.pipe(Layer.provide(services))),
    Effect.provide(NodeServices.layer),
    Effect.runPromise
  )

switch (which) {
  case "loop": {
    const names: ReadonlyArray<string> = JSON.parse(Files.readFileSync(Path.join(directory, "../names.json"), "utf8"))
    await measure(() => plain(names))
    break
  }
  case "plain":
    await measure(() => plain(found()))
    break
  case "later":
    await measure(later)
    break
  case "headers":
    await measure(() => list(false, SessionCatalog.layerNode))
    break
  case "portable":
    await measure(() => list(false, SessionCatalog.layer))
    break
  default:
    await measure(() => list(true, SessionCatalog.layerNode))
}
