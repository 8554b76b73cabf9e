/** One contender of extract.bench.ts: a whole run of Extract in this process, `FORMAT NEAR|EXACT SESSIONS OUT`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { report } from "@pi-sessions/testing/Bench"
import { Extract } from "/work/main/packages/extract/src/Extract.ts"
import { FormatName } from "/work/main/packages/extract/src/FormatName.ts"

const [format, near = "", sessions = "", out = ""] = process.argv.slice(2)
const run = Effect.flatMap(Extract, (extract) =>
  extract.run({
    redaction: process.env["REDACT"] ? { key: "0".repeat(64) } : "off",
    rigs: [],
    roles: [],
    format: Schema.decodeUnknownSync(FormatName)(format),
    out,
    includeNearDuplicates: near !== "near"
  })
).pipe(
  Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
  Effect.provide(NodeServices.layer)
)
await report(() => Effect.runPromise(run))
