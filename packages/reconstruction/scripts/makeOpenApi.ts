/** Writes docs/openapi.json from the ThreadApi. `pnpm run openapi`. */
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as OpenApi from "effect/http-api/OpenApi"
import { ThreadApi } from "../src/ThreadApi.ts"

const target = Path.resolve(import.meta.dirname, "../../../docs/openapi.json")
FileSystem.writeFileSync(target, `${JSON.stringify(OpenApi.fromApi(ThreadApi), null, 2)}\n`)
