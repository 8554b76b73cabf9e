/** Validation of datasets that `extract` wrote. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as DatasetValidation from "../src/publish/DatasetValidation.ts"
import { Extract } from "../src/Extract.ts"
import { FormatName } from "@pi-sessions/formats/FormatName"
import { directoryOf } from "@pi-sessions/formats/test/models"

const SESSIONS = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")

const dataset = (out: string, format: FormatName) =>
  Effect.flatMap(Extract, (extract) =>
    extract.run({
      redaction: "off",
      rigs: [],
      roles: [],
      format,
      out,
      branches: "all",
      tokenizer: directoryOf("drops-thinking")
    })
  ).pipe(Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([SESSIONS])))))

describe("validating a dataset", () => {
  it.live.each(FormatName.literals)("succeeds, also after it was moved: %s", (format) =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const { outputs } = yield* dataset(Path.join(root, "out"), format)
      Fs.renameSync(Path.join(root, "out"), Path.join(root, "moved"))
      const report = yield* DatasetValidation.validateDirectory(Path.join(root, "moved"))
      assert.deepStrictEqual([report.format, report.broken, report.dataset], [format, [], null])
      if (format === "pi") {
        assert.isAbove(report.files.length, 5)
        assert.strictEqual(report.files.length, outputs.loose?.length)
        return
      }
      assert.deepStrictEqual(
        report.files.map(({ lines }) => lines),
        outputs.files.map(({ samples }) => samples)
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("reports whole sessions that are damaged", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const { outputs } = yield* dataset(root, "pi")
      const [first] = outputs.loose ?? []
      const path = Path.join(root, first?.path ?? "")
      Fs.writeFileSync(path, Fs.readFileSync(path, "utf8").split("\n").slice(1).join("\n"))
      const { broken, files } = yield* DatasetValidation.validateDirectory(root)
      assert.deepStrictEqual(
        broken.map((one) => one.path),
        [path]
      )
      assert.strictEqual(files.find((file) => file.path === path)?.broken, 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("reports broken lines by number and byte offset, without their text", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const { outputs } = yield* dataset(root, "messages")
      const lines = Fs.readFileSync(outputs.train, "utf8").split("\n").slice(0, -1)
      lines[1] = (lines[1] ?? "").replace('"role":"assistant"', '"role":"secret-role"')
      Fs.writeFileSync(outputs.train, [...lines, '{"torn'].join("\n"))
      const { broken, files } = yield* DatasetValidation.validateDirectory(root)
      const first = Buffer.byteLength(lines[0] ?? "") + 1
      assert.deepStrictEqual(
        broken.map(({ byteOffset, line }) => [line, byteOffset]),
        [
          [2, first],
          [lines.length + 1, Buffer.byteLength(lines.join("\n")) + 1]
        ]
      )
      assert.strictEqual(files.find(({ path }) => path === outputs.train)?.broken, 2)
      assert.notInclude(JSON.stringify(broken), "secret-role")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("fails without the report", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const error = yield* Effect.flip(DatasetValidation.validateDirectory(root))
      assert.include(error.message, "report.json")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
