/** Datasets of the fixtures in each format: their files agree with each other. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Stream } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { FORMATS } from "@pi-sessions/formats/Formats"
import * as ParquetFile from "@pi-sessions/formats/files/ParquetFile"
import { type DataFile } from "@pi-sessions/formats/SampleFormat"
import { SAMPLE_FORMATS } from "@pi-sessions/formats/test/formats"
import { assistant, file, header, linked, text, user } from "@pi-sessions/samples/test/sessions"

const SESSIONS = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")

const run = (out: string, options: Partial<ExtractOptions>, sessions = SESSIONS) =>
  Effect.flatMap(Extract, (extract) =>
    extract.run({ redaction: "off", rigs: [], roles: [], format: "messages", out, branches: "all", ...options })
  ).pipe(
    Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
    Effect.provide(NodeServices.layer)
  )

const linesOf = (path: string): ReadonlyArray<string> => Fs.readFileSync(path, "utf8").split("\n").slice(0, -1)

const rowsOf = (path: string): Effect.Effect<ReadonlyArray<string>, SessionFileError> =>
  path.endsWith(".parquet")
    ? Stream.runCollect(ParquetFile.readLines(path)).pipe(
        Effect.map((groups) => groups.flat()),
        Effect.provide(NodeServices.layer)
      )
    : Effect.sync(() => linesOf(path))

const namesIn = (out: string): ReadonlyArray<string> =>
  Fs.readdirSync(out)
    .filter((name) => !name.startsWith("."))
    .sort()

describe("a dataset of the fixtures", () => {
  it.live.each(SAMPLE_FORMATS)("as %s is valid", (format) =>
    Effect.gen(function* () {
      const out = yield* memoryFolder
      const report = yield* run(out, { format })
      assert.isAbove(report.samples.kept, 0)
      assert.deepStrictEqual(report.samples.dropped["invalid_sample"] ?? 0, 0)
      const files: Array<DataFile> = []
      for (const { path, samples } of report.outputs.files) {
        assert.strictEqual(Path.extname(path), FORMATS[format].container?.extension ?? ".jsonl")
        const lines = yield* rowsOf(path)
        assert.strictEqual(lines.length, samples)
        for (const line of lines) assert.isTrue(Result.isSuccess(FORMATS[format].validate(line)), line)
        const split = /val/u.test(Path.basename(path)) ? "validation" : "train"
        files.push({ name: Path.basename(path), split, file: "train", lines: samples })
      }
      const sidecars = (report.outputs.sidecars ?? []).map((path) => ({
        name: Path.basename(path),
        text: Fs.readFileSync(path, "utf8")
      }))
      const checked = FORMATS[format].validateDataset?.({ files, sidecars }) ?? Result.succeed([])
      assert.isTrue(Result.isSuccess(checked), String(checked))
    })
  )

  it.live("as lora-forge has its own files, and none of the earlier run", () =>
    Effect.gen(function* () {
      const out = yield* memoryFolder
      yield* run(out, { format: "axolotl" })
      assert.include(namesIn(out), "axolotl.yml")
      const report = yield* run(out, { format: "lora-forge" })
      const roles = [...new Set(report.rows.flatMap((row) => (row.outcome === "kept" ? [row.role ?? ""] : [])))]
      const expected = [
        "README.md",
        "gastown_train.jsonl",
        "manifest.json",
        "raw_sessions.jsonl",
        "report.json",
        "splits.json",
        ...roles.map((role) => `${role}_train.jsonl`)
      ]
      assert.deepStrictEqual(
        namesIn(out).filter((name) => name !== "gastown_val.jsonl"),
        expected.sort()
      )
      assert.strictEqual(report.outputs.train, Path.join(out, "gastown_train.jsonl"))
      const all = linesOf(report.outputs.train)
      assert.deepStrictEqual(
        roles.flatMap((role) => linesOf(Path.join(out, `${role}_train.jsonl`))).sort(),
        [...all].sort(),
        "each line of the training split is in its role's file too"
      )
      const kept = report.rows.filter((row) => row.outcome === "kept").map((row) => row.session_id)
      const told = linesOf(Path.join(out, "raw_sessions.jsonl")).map((line): string => JSON.parse(line).session_id)
      assert.deepStrictEqual(told.sort(), kept.sort())
      assert.strictEqual(
        report.samples.found,
        report.samples.kept + Object.values(report.samples.dropped).reduce((a, b) => a + b, 0)
      )
    })
  )

  it.live("as lora-forge has no two lines with the same answers", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const sessions = Path.join(root, "sessions")
      Fs.mkdirSync(sessions)
      for (const [at, question] of ["Patrol.", "Patrol again.", "What next?"].entries()) {
        const answer =
          at === 2 ? `Something else. ${"I wait. ".repeat(40)}` : `All is well. ${"I look on. ".repeat(40)}`
        const lines = [
          header({ id: `deacon-${at}`, cwd: "/home/u/gt/deacon", timestamp: `2026-01-0${at + 1}T00:00:00.000Z` }),
          ...linked([user(question), assistant([text(answer)])])
        ]
        Fs.writeFileSync(Path.join(sessions, `${at}.jsonl`), file(...lines))
      }
      const options = {
        format: "lora-forge",
        includeNearDuplicates: true,
        split: { _tag: "Share", validation: 0 }
      } as const
      const report = yield* run(Path.join(root, "out"), options, sessions)
      assert.deepStrictEqual(
        report.rows.map(({ outcome, session_id }) => [session_id, outcome]),
        [
          ["deacon-0", "kept"],
          ["deacon-1", "duplicate_line"],
          ["deacon-2", "kept"]
        ]
      )
      assert.strictEqual(linesOf(report.outputs.train).length, 2)
    })
  )

  it.live("has arguments in the form of the option", () =>
    Effect.gen(function* () {
      const out = yield* memoryFolder
      const forms = (yield* run(out, { format: "axolotl", arguments: "object" })).outputs.train
      assert.include(Fs.readFileSync(forms, "utf8"), '"arguments":{"command":"gt deacon heartbeat"}')
      const text = (yield* run(out, { format: "axolotl" })).outputs.train
      assert.include(Fs.readFileSync(text, "utf8"), String.raw`"arguments":"{\"command\":\"gt deacon heartbeat\"}"`)
    })
  )
})
