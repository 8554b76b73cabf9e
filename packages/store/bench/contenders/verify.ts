/** One contender of store.bench.ts: reads a whole store, `WHICH CONTAINER`; `hash` only hashes the bytes of its segments. */
import { createHash } from "node:crypto"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import { report } from "@pi-sessions/testing/Bench"
import * as PathService from "effect/Path"
import * as StoreLayout from "../../src/StoreLayout.ts"
import * as StoreVerify from "../../src/StoreVerify.ts"

const [which = "", container = ""] = process.argv.slice(2)
if (which === "hash") {
  await report(() => {
    const hash = createHash("sha256")
    const segments = Path.join(container, "segments")
    for (const name of Files.readdirSync(segments)) hash.update(Files.readFileSync(Path.join(segments, name)))
    return hash.digest("hex")
  })
} else {
  const verify = Effect.gen(function* () {
    const report = yield* StoreVerify.verify(StoreLayout.of(yield* PathService.Path, container))
    if (report.findings.length > 0) throw new Error(report.findings.map(StoreVerify.format).join("\n"))
    return report
  })
  await report(() => Effect.runPromise(verify.pipe(Effect.provide(NodeServices.layer))))
}
