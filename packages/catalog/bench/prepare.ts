/** Creates the sessions of catalog.bench.ts and their index. Arguments: `DIRECTORY COUNT`. */
import * as Effect from "effect/Effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as PiHome from "@pi-sessions/testing/sessions/PiHome"
import { IndexRefresh } from "../src/IndexRefresh.ts"
import { fast } from "../test/support/catalogLayer.ts"

const [directory = "", count = ""] = process.argv.slice(2)
PiHome.makeMany(directory, Number(count))
const names = Files.readdirSync(directory, { recursive: true, encoding: "utf8" })
const files = names.filter((name) => name.endsWith(".jsonl")).map((name) => Path.join(directory, name))
Files.writeFileSync(Path.join(directory, "../names.json"), JSON.stringify(files))

const start = performance.now()
const refresh = Effect.flatMap(IndexRefresh, (index) => index.refresh({ sessions: [directory] }))
const [done] = await Effect.runPromise(Effect.provide(refresh, fast))
const ms = performance.now() - start
process.stdout.write(`${JSON.stringify({ written: done?.written, ms })}\n`)
