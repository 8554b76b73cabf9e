/** Parquet files: lines are read back unchanged, here and in pyarrow. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import { parquetMetadata } from "hyparquet"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import { type Json, type JsonObject } from "@pi-sessions/core/Json"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as DatasetValidation from "../src/publish/DatasetValidation.ts"
import * as ParquetFile from "@pi-sessions/formats/files/ParquetFile"
import { ParquetFormat } from "@pi-sessions/formats/ParquetFormat"
import * as ParquetPages from "../../formats/src/files/parquetPages.ts"
import { fixtureSamples, linesOf } from "@pi-sessions/formats/test/formats"

const { flag, int, json, list, optional, struct, text } = ParquetFile

const ROWS = Dose.of("PI_SESSIONS_WALKS", { test: 15, campaign: 1000 })
const FLIPS = Dose.of("PI_SESSIONS_FLIPS", { test: 100, campaign: 20000 })
const FIRST_SEED = Dose.firstSeed()

const linesIn = (file: string) =>
  Stream.runCollect(ParquetFile.readLines(file)).pipe(
    Effect.map((groups) => groups.flat()),
    Effect.provide(NodeServices.layer)
  )

/** The lines as a Parquet file, and what was said of it. */
const written = Effect.fnUntraced(function* (
  folder: string,
  name: string,
  lines: ReadonlyArray<string>,
  columns?: ParquetFile.Columns
) {
  const source = Path.join(folder, `${name}.jsonl`)
  const target = Path.join(folder, `${name}.parquet`)
  Fs.writeFileSync(source, lines.map((line) => `${line}\n`).join(""))
  const make =
    columns === undefined
      ? ParquetFormat.container?.fromLines(source, target)
      : ParquetFile.fromLines(source, target, () => columns)
  if (make === undefined) throw new Error("no container")
  return { target, made: yield* Effect.provide(make, NodeServices.layer) }
})

const SESSIONS = [
  fixtureSamples("gt/deacon-patrol", "deacon"),
  fixtureSamples("project/compacted"),
  fixtureSamples("gt/mayor-pi-rust", "mayor"),
  fixtureSamples("project/branches")
]

/** Lines of fixtures, of one shape. */
const fixtureLines = (form: "object" | "string", file: "train" | "continued"): ReadonlyArray<string> =>
  SESSIONS.flatMap((samples) => linesOf(ParquetFormat, samples, { arguments: form })).flatMap((line) =>
    "refused" in line || line.projection.file !== file ? [] : [line.text]
  )

const metadataOf = (file: string) => parquetMetadata(Uint8Array.from(Fs.readFileSync(file)).buffer)

const COLUMNS = {
  word: text,
  perhaps: optional(text),
  anything: json,
  perhaps_anything: optional(json),
  number: int,
  yes: flag,
  words: list(text),
  structs: list(
    struct({ a: text, b: optional(text), c: optional(list(struct({ d: json, e: optional(struct({ f: int })) }))) })
  )
} satisfies ParquetFile.Columns

const WORDS: readonly [string, ...ReadonlyArray<string>] = [
  "",
  "a",
  "ü€😀",
  '"quoted"\n',
  "\u0000\u2028",
  "null",
  "{}",
  "x".repeat(300)
]

const randomJson = (random: SeededRandom.SeededRandom, depth = 0): Json => {
  switch (random.int(depth > 3 ? 5 : 7)) {
    case 0:
      return null
    case 1:
      return random.int(2) === 0
    case 2:
      return random.int(1e6) / 64 - 100
    case 3:
      return Number.MAX_SAFE_INTEGER - random.int(3)
    case 4:
      return random.pick(WORDS)
    case 5:
      return Array.from({ length: random.int(4) }, () => randomJson(random, depth + 1))
    default:
      return randomObject(random, depth)
  }
}

const KEYS: readonly [string, ...ReadonlyArray<string>] = [
  "a",
  "ü",
  "",
  "constructor",
  "__proto__",
  "10",
  "2",
  "toJSON"
]

const randomObject = (random: SeededRandom.SeededRandom, depth: number): JsonObject => {
  const members = Array.from({ length: random.int(4) }, () => {
    return `${JSON.stringify(random.pick(KEYS))}:${JSON.stringify(randomJson(random, depth + 1))}`
  })
  // Parsed, so that a member called `__proto__` is one.
  const value: JsonObject = JSON.parse(`{${members.join(",")}}`)
  return value
}

const many = <A>(random: SeededRandom.SeededRandom, make: () => A): ReadonlyArray<A> =>
  Array.from({ length: random.int(4) }, () => make())

const randomRow = (random: SeededRandom.SeededRandom): JsonObject => ({
  word: random.pick(WORDS),
  perhaps: random.int(2) === 0 ? null : random.pick(WORDS),
  anything: randomJson(random),
  perhaps_anything: random.int(2) === 0 ? null : [randomJson(random)],
  number: random.int(2 ** 31) - 2 ** 30,
  yes: random.int(2) === 0,
  words: many(random, () => random.pick(WORDS)),
  structs: many(random, () => ({
    a: random.pick(WORDS),
    ...(random.int(2) === 0 ? {} : { b: random.pick(WORDS) }),
    ...(random.int(2) === 0
      ? {}
      : {
          c: many(random, () => ({
            d: randomJson(random),
            ...(random.int(2) === 0 ? {} : { e: { f: random.int(100) } })
          }))
        })
  }))
})

describe("a Parquet file", () => {
  it.live.each(["object", "string"] as const)("holds the lines of samples, with arguments as %s", (form) =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      for (const file of ["train", "continued"] as const) {
        const lines = fixtureLines(form, file)
        assert.isAbove(lines.length, 0)
        const { made, target } = yield* written(folder, file, lines)
        assert.deepStrictEqual(yield* linesIn(target), lines)
        assert.strictEqual(made.rows, lines.length)
        assert.strictEqual(made.bytes, Fs.statSync(target).size)
        const report = yield* DatasetValidation.validateFiles([target], "parquet").pipe(
          Effect.provide(NodeServices.layer)
        )
        assert.deepStrictEqual(report.files, [{ path: target, lines: lines.length, broken: 0 }])
      }
    })
  )

  it.live("holds random rows of every kind of column", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      for (let seed = FIRST_SEED; seed < FIRST_SEED + ROWS; seed++) {
        const random = SeededRandom.make(seed)
        const lines = Array.from({ length: random.int(30) }, () => JSON.stringify(randomRow(random)))
        const { target } = yield* written(folder, String(seed), lines, COLUMNS)
        assert.deepStrictEqual(yield* linesIn(target), lines, `seed ${seed}`)
      }
    })
  )

  it.live("exists without lines too, with the columns of the first shape", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const { made, target } = yield* written(folder, "empty", [])
      assert.deepStrictEqual(yield* linesIn(target), [])
      assert.strictEqual(made.rows, 0)
      assert.include(
        metadataOf(target).schema.map(({ name }) => name),
        "messages"
      )
    })
  )

  it.live("has row groups of no more than 8 MB of lines, and the same bytes each time", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const random = SeededRandom.make(7)
      // One line is larger than a row group may be.
      const sizes = [...Array.from({ length: 45 }, () => 200_000 + random.int(500_000)), 10 << 20, 10]
      const lines = sizes.map((size, at) => JSON.stringify({ word: String(at), body: "ab c".repeat(size / 4) }))
      const columns = { word: text, body: text }
      const { made, target } = yield* written(folder, "large", lines, columns)
      const groups = metadataOf(target).row_groups.map(({ num_rows }) => Number(num_rows))
      let at = 0
      for (const rows of groups) {
        const bytes = lines.slice(at, at + rows).reduce((sum, line) => sum + line.length, 0)
        assert.isTrue(rows === 1 || bytes <= 8 << 20, `${bytes} bytes in ${rows} rows`)
        at += rows
      }
      assert.strictEqual(at, lines.length)
      assert.isAbove(groups.length, 3)
      assert.deepStrictEqual(yield* linesIn(target), lines)
      const again = yield* written(folder, "again", lines, columns)
      assert.deepStrictEqual(again.made, made)
      assert.isTrue(Fs.readFileSync(again.target).equals(Fs.readFileSync(target)))
    })
  )

  it.live("reports lines that do not fit, and files that cannot be read", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const bad = [
        ["torn", "{", "line 2"],
        ["another-column", '{"word":"a","more":1}', "line 2"],
        ["no-column", "{}", "one of lines 1 to 2"],
        ["no-text", '{"word":{}}', "one of lines 1 to 2"]
      ] as const
      for (const [name, line, place] of bad) {
        const { message } = yield* Effect.flip(written(folder, name, ['{"word":"a"}', line], { word: text }))
        const source = Path.join(folder, `${name}.jsonl`)
        assert.strictEqual(message, `cannot read ${source}: ${place} does not have the columns of the first row`)
      }
      const { target } = yield* written(folder, "good", fixtureLines("object", "train"))
      const there = yield* Effect.flip(written(folder, "good", []))
      assert.include(there.message, `cannot write ${target}`)

      const whole = Fs.readFileSync(target)
      const reads = Effect.fnUntraced(function* (bytes: Uint8Array) {
        Fs.writeFileSync(target, bytes)
        return (yield* Effect.flip(linesIn(target))).message
      })
      const message = `cannot read ${target}: not a Parquet file, or a damaged one`
      for (const cut of [0, 3, 8, 100, whole.length - 9, whole.length - 1]) {
        assert.strictEqual(yield* reads(whole.subarray(0, cut)), message, `cut at ${cut}`)
      }
      const wild = Buffer.from(whole)
      wild.writeUInt32LE(0xffff_ffff, whole.length - 8)
      assert.strictEqual(yield* reads(wild), message)
      assert.strictEqual(yield* reads(Buffer.from("no Parquet at all, but long enough to be one\n")), message)
    })
  )

  it.live("gives lines or one error when bytes are damaged", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const lines = fixtureLines("object", "train").slice(0, 3)
      const { target } = yield* written(folder, "small", lines)
      const whole = Fs.readFileSync(target)
      const footer = metadataOf(target).metadata_length + 8
      const unhandled: Array<unknown> = []
      const note = (reason: unknown): void => void unhandled.push(reason)
      process.on("unhandledRejection", note)
      const counts = { lines: 0, errors: 0 }
      for (let seed = FIRST_SEED; seed < FIRST_SEED + FLIPS; seed++) {
        const random = SeededRandom.make(seed)
        const bytes = Buffer.from(whole)
        for (let flips = 1 + random.int(3); flips > 0; flips--) {
          // The footer says how all the rest is read.
          const at = random.int(2) === 0 ? bytes.length - 1 - random.int(footer) : random.int(bytes.length)
          bytes[at] = random.int(2) === 0 ? random.int(256) : (bytes[at] ?? 0) ^ (1 << random.int(8))
        }
        Fs.writeFileSync(target, random.int(8) === 0 ? bytes.subarray(0, random.int(bytes.length)) : bytes)
        const exit = yield* Effect.exit(linesIn(target))
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        assert.deepStrictEqual(unhandled, [], `seed ${seed}`)
        if (Exit.isSuccess(exit)) counts.lines++
        else {
          const error = yield* Effect.flip(exit)
          assert.instanceOf(error, SessionFileError, `seed ${seed}`)
          assert.strictEqual(error.path, target)
          counts.errors++
        }
      }
      process.off("unhandledRejection", note)
      assert.isAbove(counts.errors, FLIPS / 4)
      assert.isAbove(counts.lines, FLIPS / 50)
      process.stdout.write(`Parquet, flipped bytes: ${JSON.stringify(counts)}\n`)
    })
  )

  it("is refused when a page claims more values than its column has", () => {
    /** A page of plain values whose levels are one run. */
    const page = (values: number, run: ReadonlyArray<number>) => {
      const body = [run.length, 0, 0, 0, ...run]
      const size = 2 * body.length
      // Type, both sizes; of a data page the values and their encoding.
      return Uint8Array.from([0x15, 0, 0x15, size, 0x15, size, 0x2c, 0x15, 2 * values, 0x15, 0, 0, 0, ...body])
    }
    const shape = { values: 4, isCompressed: false, maxRepetition: 0, maxDefinition: 1 }
    const check = (bytes: Uint8Array) => ParquetPages.check(bytes, shape, () => undefined)
    check(page(4, [8, 1]))
    assert.throws(() => check(page(5, [8, 1])), "the page contradicts its header")
    assert.throws(() => check(page(4, [10, 1])), "the page contradicts its header")
    assert.throws(() => check(page(4, [0xfe, 0xff, 0xff, 0xff, 0x0f, 1])), "the page contradicts its header")
  })

  it.live("reports invalid rows", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const lines = fixtureLines("object", "train")
      const broken = lines.map((line, at) => (at === 1 ? line.replaceAll('"role":"assistant"', '"role":"user"') : line))
      const { target } = yield* written(folder, "broken", broken)
      const report = yield* DatasetValidation.validateFiles([target], "parquet").pipe(
        Effect.provide(NodeServices.layer)
      )
      assert.deepStrictEqual(
        report.broken.map(({ byteOffset, line }) => [line, byteOffset]),
        [[2, undefined]]
      )
    })
  )
})

/** Prints the rows of a file as pyarrow has them, a JSON document a line, and the types of some columns before them. */
const PYARROW = `
import json, sys
import pyarrow.parquet as pq
file = pq.ParquetFile(sys.argv[1])
table = file.read()
print(json.dumps({"columns": table.schema.names, "tools": str(table.schema.field("tools").type), "groups": file.num_row_groups}))
for row in table.to_pylist():
    print(json.dumps(row))
`

const PYTHON = process.env["PI_SESSIONS_PYTHON"] ?? "python3"
const found = ChildProcess.spawnSync(PYTHON, ["-c", "import pyarrow.parquet"], { encoding: "utf8" })
const reason =
  found.status === 0 ? "" : ` (skipped: ${PYTHON} ${found.error === undefined ? "has no pyarrow" : "is not there"})`

/** The value as pyarrow has it: JSON as text, and null for members that are not there. */
const asArrow = (value: Json | undefined, column: ParquetFile.Column): Json => {
  if (value === undefined || (value === null && (column._tag !== "Json" || column.isOptional === true))) return null
  if (column._tag === "Json") return JSON.stringify(value)
  if (column._tag === "List" && Array.isArray(value)) return value.map((item) => asArrow(item, column.item))
  if (column._tag !== "Struct" || typeof value !== "object" || Array.isArray(value)) return value
  const object: JsonObject = JSON.parse(JSON.stringify(value))
  return Object.fromEntries(
    Object.entries(column.members).map(([name, member]) => [name, asArrow(object[name], member)])
  )
}

describe.skipIf(reason !== "")(`pyarrow${reason}`, () => {
  it.live("reads the same rows", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const rowsOf = (file: string): ReadonlyArray<JsonObject> =>
        ChildProcess.execFileSync(PYTHON, ["-c", PYARROW, file], { encoding: "utf8", maxBuffer: 1 << 28 })
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      const random = SeededRandom.make(3)
      const lines = Array.from({ length: 200 }, () => JSON.stringify({ tools: [1], ...randomRow(random) }))
      const columns = { tools: json, ...COLUMNS }
      const { target } = yield* written(folder, "random", lines, columns)
      const [, ...rows] = rowsOf(target)
      const expected = lines.map((line) => asArrow(JSON.parse(line), struct(columns)))
      assert.deepStrictEqual<Json>(rows, expected)

      for (const form of ["object", "string"] as const) {
        const source = fixtureLines(form, "train")
        const { target } = yield* written(folder, form, source)
        const [schema, ...found] = rowsOf(target)
        const first: JsonObject = JSON.parse(source[0] ?? "")
        assert.deepStrictEqual(schema?.["columns"], Object.keys(first))
        assert.include(schema?.["tools"], form === "object" ? "json" : "string")
        for (const [at, row] of found.entries()) {
          const line: JsonObject = JSON.parse(source[at] ?? "")
          assert.strictEqual(row["session_id"], line["session_id"])
          const tools = typeof line["tools"] === "string" ? line["tools"] : JSON.stringify(line["tools"])
          assert.strictEqual(row["tools"], tools)
        }
        assert.strictEqual(found.length, source.length)
      }
    })
  )
})
