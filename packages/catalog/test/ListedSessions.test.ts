/**
 * Every session that `list` shows as version 3 migrates into a store and is restored byte for byte: sessions and forks
 * of both Pis, fixtures and corpus, and all of them with lines lost, moved, repeated, torn, glued or altered.
 *
 * `PI_SESSIONS_WALKS`: sessions of each Pi. `PI_SESSIONS_LISTED_FILES`: files of fixtures and corpus.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { type Json, isObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionCatalog } from "../src/SessionCatalog.ts"
import { fast } from "./support/catalogLayer.ts"

type Random = SeededRandom.SeededRandom

const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 2, campaign: 200 })
const FILES = Dose.of("PI_SESSIONS_LISTED_FILES", { test: 25, campaign: 200 })
/** Mutations of each file. */
const MUTATIONS = Dose.isCampaign() ? 2 : 0

const oneOf = <A>(random: Random, values: ReadonlyArray<A>): A => values[random.int(values.length)]!

const ODD: ReadonlyArray<Json | undefined> = [undefined, null, 0, 7, true, "", "7", {}, []]
const LINES = ["null", "42", "0", '"x"', "[]", "{}", "", " \t", "\u00a0", "no json", '{"type":"message","id":"torn']
const HEADERS = ['{"type":"session","version":3,"id":"again"}', '{"type":"session"}']

const altered = (line: string, members: { readonly [key: string]: Json | undefined }): string => {
  const value: Json = JSON.parse(line)
  return isObject(value) ? JSON.stringify({ ...value, ...members }) : line
}

/** Changes to the lines after the header, at line `at`. */
const changes: ReadonlyArray<(lines: Array<string>, at: number, random: Random) => void> = [
  (lines, at) => void lines.splice(at, 1),
  (lines, at) => void lines.splice(at, 0, lines[at] ?? ""),
  (lines, at, random) => void lines.push(...lines.splice(at, 1 + random.int(3))),
  (lines, at, random) => void lines.splice(at, 0, oneOf(random, [...LINES, ...HEADERS])),
  (lines, _, random) => void lines.push(oneOf(random, LINES)),
  (lines, at) => void lines.splice(at, 2, lines.slice(at, at + 2).join("")),
  (lines, at) => void lines.splice(at, 1, `\ufeff${lines[at]}`),
  (lines, at) => void lines.splice(at, 1, (lines[at] ?? "").slice(0, -5)),
  (lines, at, random) => void lines.splice(at, 1, altered(lines[at] ?? "", { type: oneOf(random, ODD) })),
  (lines, at, random) => void lines.splice(at, 1, altered(lines[at] ?? "", { id: oneOf(random, ODD) })),
  (lines, at, random) => void lines.splice(at, 1, altered(lines[at] ?? "", { parentId: oneOf(random, ODD) })),
  (lines, at) => void lines.splice(at, 1, altered(lines[at] ?? "", { parentId: "missing" })),
  (lines, at) => void lines.splice(at, 1, altered(lines[at] ?? "", { id: "mutated" })),
  (lines, at) => void lines.splice(at, 1, altered(lines[at] ?? "", { id: "i".repeat(70_000) })),
  (lines, at) => void lines.splice(at, 1, altered(lines[at] ?? "", { type: "t".repeat(70_000) }))
]

const isJson = (line: string): boolean => {
  try {
    return isObject(JSON.parse(line))
  } catch {
    return false
  }
}

const mutated = (bytes: Buffer, random: Random): Buffer => {
  const [header = "", ...lines] = bytes.toString("utf8").split("\n").slice(0, -1)
  for (let left = 1 + random.int(3); left > 0; left--) {
    const whole = [...lines.keys()].filter((at) => isJson(lines[at]!))
    if (whole.length > 0) oneOf(random, changes)(lines, oneOf(random, whole), random)
  }
  const first = random.chance(0.05)
    ? altered(header, { id: "mutated" })
    : random.chance(0.03)
      ? `\ufeff${header}`
      : header
  const newline = random.chance(0.1) ? "\r\n" : "\n"
  const text = [...(random.chance(0.05) ? ["# by hand", ""] : []), first, ...lines].join(newline)
  return Buffer.from(random.chance(0.2) ? text : `${text}${newline}`)
}

/** Sessions and forks made by a real Pi. */
const walks = Effect.fnUntraced(function* (version: PiVersion.PiVersion) {
  const root = yield* memoryFolder
  const samples: Array<readonly [name: string, bytes: Buffer]> = []
  for (let seed = Dose.firstSeed(); seed < Dose.firstSeed() + WALKS; seed++) {
    const dir = Path.join(root, String(seed))
    const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, dir, cwd: "/srv/project" }))
    for (const file of walk.files) samples.push([`Pi ${version}, seed ${seed}`, Fs.readFileSync(file)])
  }
  return samples
})

/** Fixtures and corpus, or a sample of them. */
const files = (): ReadonlyArray<readonly [name: string, bytes: Buffer]> => {
  const folders = [
    Path.resolve(import.meta.dirname, "../../../fixtures"),
    process.env["PI_SESSIONS_CORPUS"] || undefined
  ]
  const all = folders.flatMap((folder) =>
    folder === undefined
      ? []
      : Fs.readdirSync(folder, { recursive: true, encoding: "utf8" })
          .filter((name) => name.endsWith(".jsonl"))
          .toSorted()
          .map((name) => [name, Path.join(folder, name)] as const)
  )
  const step = Math.max(1, Math.floor(all.length / FILES))
  return all
    .filter((_, at) => at % step === Dose.firstSeed() % step)
    .map(([name, path]) => [name, Fs.readFileSync(path)] as const)
}

/** Migrates a session into a store and back; false if it is not listed as version 3. */
const roundTrip = Effect.fnUntraced(function* (name: string, bytes: Buffer, random = SeededRandom.make(bytes.length)) {
  const directory = yield* memoryFolder
  const file = Path.join(directory, "s.jsonl")
  Fs.writeFileSync(file, bytes)
  const catalog = yield* SessionCatalog
  const listed = (yield* catalog.list({ sessions: [file] })).sessions
  if (listed[0]?.version !== 3) return false
  const store = yield* SessionStore
  const migration = yield* StoreMigration
  const migrated = yield* Effect.result(migration.migrate(file, { segmentBytes: random.chance(0.1) ? 4000 : 1 << 16 }))
  if (Result.isFailure(migrated)) return assert.fail(`${name}: ${migrated.failure.message}`)
  const { entryCount, location } = migrated.success
  assert.deepStrictEqual((yield* store.verify(location)).findings, [], name)
  assert.deepStrictEqual((yield* catalog.list({ sessions: [directory] })).sessions.length, 1, name)
  yield* Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* store.reader(location)
      const held = Buffer.concat((yield* Stream.runCollect(reader.payloads)).flat())
      assert.isTrue(held.equals(bytes), `${name}: export`)
      const session = Session.read(bytes)
      const { tree } = session
      const own = tree.getEntries().filter(({ recovered }) => !recovered)
      assert.strictEqual(entryCount, own.length, name)
      const texts = (entries: ReadonlyArray<{ readonly text: string }>) => entries.map(({ text }) => text)
      assert.deepStrictEqual(texts(yield* Stream.runCollect(reader.range(1, 1e9))), texts(own), `${name}: entries`)
      assert.deepStrictEqual(texts(yield* reader.path()), texts(tree.getBranch()), `${name}: path`)
      for (const profile of PiVersion.versions) {
        assert.deepStrictEqual(
          yield* reader.context({ profile }),
          SessionContext.build(tree, profile),
          `${name}: context`
        )
      }
      const leafId = tree.leaves()[0]?.id
      if (typeof leafId !== "string" || leafId === "") return
      assert.strictEqual((yield* reader.entryById(leafId)).text, tree.getEntry(leafId)?.text, name)
      assert.deepStrictEqual(texts(yield* reader.path(leafId)), texts(tree.getBranch(leafId)), name)
    })
  )
  if (random.chance(0.25)) {
    const database = yield* migration.rollback(location, { format: "sqlite_v1" })
    const again = yield* migration.migrate(database.path, { format: "sqlite_v1" })
    assert.strictEqual(again.entryCount, entryCount, name)
    assert.strictEqual(
      (yield* catalog.list({ sessions: [directory] })).sessions.length,
      1,
      `${name}: database replaced`
    )
  }
  // Without its source file, the rollback writes a new one.
  if (random.chance(0.5)) Fs.renameSync(file, `${file}.aside`)
  const back = yield* migration.rollback(location, { format: "jsonl_v3" })
  assert.isTrue(Fs.readFileSync(back.path).equals(bytes), `${name}: rolled back`)
  if (Fs.existsSync(`${file}.aside`)) Fs.renameSync(`${file}.aside`, file)
  assert.isTrue(Fs.readFileSync(file).equals(bytes), `${name}: the source`)
  return true
}, Effect.scoped)

const hasMissingParent = (bytes: Buffer): boolean =>
  Session.read(bytes).diagnostics.some(({ code }) => code === "unknown-parent")

describe("a session that is listed as one of version 3", () => {
  it.live.each(PiVersion.versions)(
    "migrates and is restored byte for byte: sessions of Pi %s, unchanged and mutated",
    (version) =>
      Effect.gen(function* () {
        const samples = yield* walks(version)
        let listed = 0
        let missing = 0
        for (const [at, [name, bytes]] of samples.entries()) {
          assert.isTrue(yield* roundTrip(name, bytes), name)
          if (hasMissingParent(bytes)) missing++
          // A changed header may no longer be one of version 3.
          for (let mutation = 1; mutation <= 3; mutation++) {
            const random = SeededRandom.make(at * 10 + mutation)
            if (yield* roundTrip(`${name}, file ${at}, mutation ${mutation}`, mutated(bytes, random))) listed++
          }
        }
        process.stdout.write(
          `ListedSessions: ${samples.length} sessions of Pi ${version}, ${missing} with missing parents, and ${listed} mutated ones\n`
        )
        if (version === "0.78" && WALKS >= 50) assert.isAtLeast(missing, 1)
        assert.isAtLeast(listed, 2 * samples.length)
      }).pipe(Effect.scoped, Effect.provide(fast))
  )

  it.live("migrates and is restored byte for byte: fixtures and corpus, unchanged and mutated", () =>
    Effect.gen(function* () {
      let listed = 0
      const chosen = files()
      for (const [at, [name, bytes]] of chosen.entries()) {
        if (yield* roundTrip(name, bytes)) listed++
        for (let mutation = 1; mutation <= MUTATIONS; mutation++) {
          const random = SeededRandom.make(at * 10 + mutation)
          if (yield* roundTrip(`${name}, mutation ${mutation}`, mutated(bytes, random))) listed++
        }
      }
      process.stdout.write(`ListedSessions: ${listed} sessions of fixtures and corpus, unchanged and mutated\n`)
      assert.isAtLeast(3 * listed, chosen.length)
    }).pipe(Effect.provide(fast))
  )

  it.live("is refused with line, byte and remedy if its id cannot be a file name", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      for (const id of ["a/b", ".hidden", "", "x".repeat(300)]) {
        Fs.writeFileSync(file, `\n${JSON.stringify({ type: "session", version: 3, id })}\n`)
        const refused = yield* Effect.flip((yield* StoreMigration).migrate(file))
        assert.match(
          refused.message,
          /s\.jsonl:2 \(byte 1\): the session id .* cannot be part of a file name; .*pi-sessions fork/
        )
        assert.deepStrictEqual(Fs.readdirSync(directory), ["s.jsonl"])
      }
    }).pipe(Effect.scoped, Effect.provide(fast))
  )
})
