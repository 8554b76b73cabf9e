/** Secrets that are planted wherever a session can hide them, through a whole run: none in any file that is written. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as ExactSecrets from "@pi-sessions/redaction/ExactSecrets"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { FormatName } from "@pi-sessions/formats/FormatName"
import * as ParquetFile from "@pi-sessions/formats/files/ParquetFile"
import { assistant, call, file, header, linked, result, text, user } from "@pi-sessions/samples/test/sessions"

// Made of parts, so that no scanner trips on this file.
const token = ["ghp", "q8Zr2mXw7KcVt4LsBy9NpEa3JdHf6UgR1oTi"].join("_")
const word = ["correct", "horse", "battery"].join("-")
const USER = "annabelle"
const home = `/home/${USER}/work`

const session = (cwd: string) =>
  file(
    header({ id: token, cwd }),
    { type: "session_info", id: "n", parentId: null, timestamp: "2026-01-05T10:00:00.000Z", name: `about ${token}` },
    ...linked([
      user(`use ${token}, and the password is ${word}`),
      assistant([
        { type: "thinking", thinking: `the token ${token}` },
        text(`I take ${token}.`),
        call("c1", "bash", { command: `curl -H 'Authorization: token ${token}' ${word}`, [token]: { deep: [token] } })
      ]),
      result("c1", `${home}/x: ${token}\n${word}\n`),
      assistant([text(`done with ${word}`)])
    ])
  )

/** What a file says: Parquet is compressed. */
const textOf = (path: string): Effect.Effect<string, SessionFileError> =>
  path.endsWith(".parquet")
    ? Stream.runCollect(ParquetFile.readLines(path)).pipe(
        Effect.map((groups) => Fs.readFileSync(path, "latin1") + groups.flat().join("\n")),
        Effect.provide(NodeServices.layer)
      )
    : Effect.sync(() => Fs.readFileSync(path, "utf8"))

const run = Effect.fnUntraced(function* (options: Partial<ExtractOptions>, cwd = `${home}/${token}`) {
  const root = yield* memoryFolder
  const sessions = Path.join(root, USER, `--home-${USER}-work--`)
  Fs.mkdirSync(sessions, { recursive: true })
  Fs.writeFileSync(Path.join(sessions, "s.jsonl"), session(cwd))
  Fs.writeFileSync(Path.join(sessions, `broken-${token}.jsonl`), "no session\n")
  const out = Path.join(root, "out")
  const { secrets } = ExactSecrets.fromValues([word])
  const report = yield* Effect.flatMap(Extract, (extract) =>
    extract.run({ rigs: [], roles: [], format: "messages", out, redaction: { key: "k", exact: secrets }, ...options })
  ).pipe(
    Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([Path.join(root, USER)])))),
    Effect.provide(NodeServices.layer)
  )
  const names = Fs.readdirSync(out, { recursive: true, encoding: "utf8" })
  const inFiles = names.filter((name) => Fs.statSync(Path.join(out, name)).isFile())
  const files = yield* Effect.forEach(inFiles, (name) =>
    Effect.map(textOf(Path.join(out, name)), (text) => [name, text.replaceAll(root, "")] as const)
  )
  return { report, files, root }
})

describe("a redacted dataset", () => {
  it.live.each(FormatName.literals)("as %s holds no secret and no name of a person in any file", (format) =>
    Effect.gen(function* () {
      const { files, report } = yield* run({ format, branches: "all" })
      assert.isTrue(report.is_redacted)
      assert.isAbove(files.length, 3)
      for (const [name, content] of files) {
        for (const secret of [token, word, USER, `${USER}-`]) assert.notInclude(content, secret, name)
      }
    })
  )

  it.live(
    "names no place of this machine: what was asked for, where sessions lay, which session went to which split",
    () =>
      Effect.gen(function* () {
        const town = `/home/${USER}.hidden/gt`
        const asked = { town, models: ["fake-1", `of-${token}`], rigs: ["deacon", `/home/${USER}/gt/${token}`] }
        for (const format of ["messages", "sharegpt", "parquet"] as const) {
          const { files, root } = yield* run({ ...asked, format }, `${town}/deacon`)
          const told = new Map(files)
          for (const [name, content] of files) {
            for (const secret of [token, USER, "hidden"]) assert.notInclude(content, secret, name)
          }
          const manifest = JSON.parse(told.get("manifest.json") ?? "{}")
          const report = JSON.parse(told.get("report.json") ?? "{}")
          assert.strictEqual(manifest.inputs.length, 1)
          assert.strictEqual(
            manifest.inputs[0].session_id,
            report.rows.find(({ outcome }: { outcome: string }) => outcome === "kept").session_id
          )
          assert.match(manifest.settings.town_sha256, /^[0-9a-f]{64}$/u)
          assert.strictEqual(manifest.settings.models[0], "fake-1")
          const lines =
            format === "parquet"
              ? (yield* Effect.provide(
                  Stream.runCollect(ParquetFile.readLines(Path.join(root, "out", "train.parquet"))),
                  NodeServices.layer
                )).flat()
              : (told.get("train.jsonl") ?? "").trim().split("\n")
          assert.isAbove(lines.length, 0)
          for (const line of lines) {
            const value = JSON.parse(line)
            assert.strictEqual((value.metadata ?? value).source_path, "s.jsonl")
          }
        }
      })
  )

  it.live("counts what was taken out, by rule, and gives the same bytes with the same key only", () =>
    Effect.gen(function* () {
      const { files, report } = yield* run({})
      assert.isAbove(report.total.redacted["exact-value"] ?? 0, 2)
      assert.isAbove(
        Object.values(report.total.redacted).reduce((sum, count) => sum + count, 0),
        8
      )
      const train = (all: typeof files) => all.find(([name]) => name === "train.jsonl")?.[1]
      assert.strictEqual(train((yield* run({})).files), train(files))
      assert.notStrictEqual(train((yield* run({ redaction: { key: "another" } })).files), train(files))
    })
  )

  it.live("says that it is not redacted where that was asked for", () =>
    Effect.gen(function* () {
      const { files, report } = yield* run({ redaction: "off" })
      assert.isFalse(report.is_redacted)
      assert.include(files.find(([name]) => name === "train.jsonl")?.[1], token)
      assert.include(files.find(([name]) => name === "README.md")?.[1], "not-redacted")
    })
  )
})
