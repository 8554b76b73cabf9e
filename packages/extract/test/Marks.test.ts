/** Marks of people on sessions and answers: stored, and applied by a run. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import * as Marks from "@pi-sessions/samples/Marks"
import { assistant, file, header, linked, text, user } from "@pi-sessions/samples/test/sessions"

const Change = Schema.Struct({
  session: Schema.Literals(["a", "b", "__proto__", "constructor"]),
  entry: Schema.Literals(["", "e1", "e2", "toString"]),
  mark: Schema.NullOr(Marks.Mark)
})

const applied = (changes: ReadonlyArray<typeof Change.Type>): Marks.Marks =>
  changes.reduce(
    (marks, { entry, mark, session }) => Marks.set(marks, session, entry === "" ? undefined : entry, mark),
    Marks.none
  )

const isSamePlace = (a: typeof Change.Type, b: typeof Change.Type): boolean =>
  a.session === b.session && a.entry === b.entry

describe("marks", () => {
  it.effect.prop("have the last value, before and after they are written", [Schema.Array(Change)], ([changes]) =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const path = Path.join(folder, "deep", "marks.json")
      const told = new Map(changes.map(({ entry, mark, session }) => [`${session}/${entry}`, mark]))
      const marks = applied(changes)
      yield* Marks.write(path, marks)
      const read = yield* Marks.read(path)
      for (const session of ["a", "b", "constructor"]) {
        for (const entry of ["", "e1", "e2", "toString"]) {
          const expected = told.get(`${session}/${entry}`) ?? undefined
          assert.strictEqual(Marks.on(marks, session, entry === "" ? undefined : entry), expected)
          assert.strictEqual(Marks.on(read, session, entry === "" ? undefined : entry), expected)
        }
      }
      // Equal marks are equal bytes, whatever the order in which they were set.
      const again = Path.join(folder, "again.json")
      const lastOnly = changes
        .toReversed()
        .filter((change, at, all) => all.findIndex((one) => isSamePlace(one, change)) === at)
      yield* Marks.write(again, applied(lastOnly))
      assert.deepStrictEqual(Fs.readFileSync(again), Fs.readFileSync(path))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("are not read from other files", () =>
    Effect.gen(function* () {
      const folder = yield* memoryFolder
      const path = Path.join(folder, "marks.json")
      assert.strictEqual((yield* Effect.flip(Marks.read(path)))._tag, "MarksNotFound")
      assert.deepStrictEqual(yield* Marks.readOrNone(path), Marks.none)
      for (const content of [
        "",
        "{}",
        "[]",
        '{"kind":"pi-sessions/marks/2","sessions":{}}',
        '{"kind":"pi-sessions/marks/1","sessions":{"a":{"session":"maybe"}}}'
      ]) {
        Fs.writeFileSync(path, content)
        const error = yield* Effect.flip(Marks.readOrNone(path))
        assert.strictEqual(error._tag, "NotMarks")
        assert.include(error.message, path)
      }
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe("an answer", () => {
  it("has its own mark, else its session's; a rejected session rejects all answers", () => {
    const may = (session: Marks.Mark | null, entry: Marks.Mark | null, acceptedOnly: boolean): boolean =>
      Marks.isTarget(
        { marks: Marks.set(Marks.set(Marks.none, "s", undefined, session), "s", "e", entry), acceptedOnly },
        "s",
        "e"
      )
    const marks = [null, "accept", "reject"] as const
    const table = marks.map((session) => marks.map((entry) => [may(session, entry, false), may(session, entry, true)]))
    const [yes, no, free] = [
      [true, true],
      [false, false],
      [true, false]
    ]
    assert.deepStrictEqual(table, [
      [free, yes, no],
      [yes, yes, no],
      [no, no, no]
    ])
  })
})

const session = (id: string, ...answers: ReadonlyArray<string>): string =>
  file(
    header({ id, timestamp: `2026-01-05T10:00:0${id.length}.000Z` }),
    ...linked(answers.flatMap((answer) => [user(`${id} asks for ${answer}`), assistant([text(`${answer} it is`)])]))
  )

/** The ids that `linked` gives; even ones are of questions. */
const idsOf = (content: string): ReadonlyArray<string> =>
  content
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line).id)

const run = Effect.fnUntraced(function* (marks: ExtractOptions["marks"], more: Partial<ExtractOptions> = {}) {
  const folder = yield* memoryFolder
  const from = Path.join(folder, "in")
  Fs.mkdirSync(from)
  const sessions = {
    one: session("one", "red", "green", "blue"),
    three: session("three", "north"),
    seventh: session("seventh", "seven")
  }
  for (const [name, content] of Object.entries(sessions)) Fs.writeFileSync(Path.join(from, `${name}.jsonl`), content)
  const report = yield* Effect.flatMap(Extract, (extract) =>
    extract.run({
      rigs: [],
      roles: [],
      format: "messages",
      out: Path.join(folder, "out"),
      ...(marks === undefined ? {} : { marks }),
      ...more
    })
  ).pipe(Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([from])))))
  const lines = (name: string): ReadonlyArray<string> => {
    const path = Path.join(folder, "out", name)
    return Fs.existsSync(path)
      ? Fs.readFileSync(path, "utf8")
          .trim()
          .split("\n")
          .filter((line) => line !== "")
      : []
  }
  const manifest = Fs.readFileSync(Path.join(folder, "out", "manifest.json"), "utf8")
  return {
    report,
    all: [...lines("train.jsonl"), ...lines("train-continued.jsonl")].join("\n"),
    continued: lines("train-continued.jsonl"),
    manifest
  }
})

const ids = idsOf(session("one", "red", "green", "blue"))
const marked = (
  ...changes: ReadonlyArray<readonly [session: string, entry: string | undefined, mark: Marks.Mark]>
): Marks.Marks => changes.reduce((marks, [session, entry, mark]) => Marks.set(marks, session, entry, mark), Marks.none)

describe("a run with marks", () => {
  it.effect("keeps all sessions without marks", () =>
    Effect.gen(function* () {
      const { report } = yield* run({ marks: Marks.none, acceptedOnly: false })
      assert.strictEqual(report.sessions.kept, 3)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("drops a rejected session and reports it", () =>
    Effect.gen(function* () {
      const marks = marked(["three", undefined, "reject"], ["three", ids[1], "accept"])
      const { all, report } = yield* run({ marks, acceptedOnly: false })
      assert.deepStrictEqual(report.sessions, { found: 3, kept: 2, dropped: { rejected_mark: 1 } })
      assert.notInclude(all, "north")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("has rejected answers as context only", () =>
    Effect.gen(function* () {
      const { all, continued, report } = yield* run({ marks: marked(["one", ids[1], "reject"]), acceptedOnly: false })
      assert.strictEqual(report.total.targets, 4)
      assert.strictEqual(report.sessions.kept, 3)
      const [line = ""] = continued
      const sample = JSON.parse(line)
      assert.include(JSON.stringify(sample.prompt), "red it is")
      assert.notInclude(JSON.stringify(sample.completion), "red it is")
      assert.include(JSON.stringify(sample.completion), "green it is")
      assert.strictEqual(all.split("red it is").length, 2)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("drops a session whose answers are all rejected", () =>
    Effect.gen(function* () {
      const [, answer] = idsOf(session("three", "north"))
      const { report } = yield* run({ marks: marked(["three", answer, "reject"]), acceptedOnly: false })
      assert.deepStrictEqual(report.sessions.dropped, { rejected_mark: 1 })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("has only accepted answers as targets with acceptedOnly", () =>
    Effect.gen(function* () {
      const marks = marked(["seventh", undefined, "accept"], ["one", ids[3], "accept"], ["three", undefined, "reject"])
      const { all, report } = yield* run({ marks, acceptedOnly: true })
      assert.deepStrictEqual(report.sessions, { found: 3, kept: 2, dropped: { rejected_mark: 1 } })
      assert.strictEqual(report.total.targets, 2)
      assert.include(all, "seven it is")
      assert.notInclude(all, "blue it is")
      const none = yield* run({ marks: marked(["seventh", undefined, "accept"]), acceptedOnly: true })
      assert.deepStrictEqual(none.report.sessions.dropped, { no_accepting_mark: 2 })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("writes the hash of the marks to the manifest", () =>
    Effect.gen(function* () {
      const marks = marked(["three", undefined, "reject"])
      const one = yield* run({ marks, acceptedOnly: false })
      const other = yield* run({ marks: marked(["three", undefined, "accept"]), acceptedOnly: false })
      const settings = (manifest: string) => JSON.parse(manifest).settings
      assert.match(settings(one.manifest).marks.sha256, /^[\da-f]{64}$/u)
      assert.notStrictEqual(settings(one.manifest).marks.sha256, settings(other.manifest).marks.sha256)
      assert.notProperty(settings((yield* run(undefined)).manifest), "marks")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
