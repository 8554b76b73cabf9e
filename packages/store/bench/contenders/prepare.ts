/** Prepares a store for store.bench.ts, `ENTRIES DIRECTORY`: writes a session, migrates and checkpoints it; prints where. */
import * as Path from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { StoreLock } from "../../src/StoreLock.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"

const entries = Number(process.argv[2])
const directory = process.argv[3] ?? ""
const file = Path.join(directory, `${entries}.jsonl`)
const { bytes } = await LargeSession.write(file, { entries, seed: entries, compactEvery: 200 })
const start = performance.now()
const { location } = await Effect.runPromise(
  Effect.flatMap(StoreMigration, (migration) => migration.migrate(file)).pipe(
    Effect.provide(StoreMigration.layer),
    Effect.provide(StoreLock.layer),
    Effect.provide(Sqlite.layer),
    Effect.provide(NodeServices.layer)
  )
)
const migrateMs = performance.now() - start
process.stdout.write(
  `${JSON.stringify({ file, bytes, container: Path.join(directory, `${location.sessionId}.v2`), migrateMs })}\n`
)
