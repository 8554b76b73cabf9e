/** The generated contract. */
import { assert, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { ThreadApi } from "../src/ThreadApi.ts"

it("equals docs/openapi.json; `pnpm run openapi` in packages/reconstruction updates it", () => {
  const file = Path.resolve(import.meta.dirname, "../../../docs/openapi.json")
  const written: unknown = JSON.parse(FileSystem.readFileSync(file, "utf8"))
  assert.deepStrictEqual<unknown>(written, JSON.parse(JSON.stringify(OpenApi.fromApi(ThreadApi))))
})
