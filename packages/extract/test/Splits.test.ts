/** Splits without leakage: families, near-duplicates, and assignments that stay when a dataset grows. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import { type JsonObject } from "@pi-sessions/core/Json"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import * as MinHash from "../src/plan/MinHash.ts"
import { type Split } from "@pi-sessions/formats/Split"
import * as Splits from "../src/plan/Splits.ts"
import { type Made, generate, wordOf, words, write } from "@pi-sessions/samples/test/manySessions"
import * as Sessions from "@pi-sessions/samples/test/sessions"

const SESSIONS = Dose.of("PI_SESSIONS_FUZZ", { test: 300, campaign: 20000 })

const run = (sessions: string, out: string, options: Partial<ExtractOptions> = {}) =>
  Effect.flatMap(Extract, (extract) =>
    extract.run({
      redaction: "off",
      rigs: [],
      roles: [],
      format: "messages",
      out,
      split: { _tag: "Share", validation: 0.2 },
      ...options
    })
  ).pipe(
    Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
    Effect.provide(NodeServices.layer)
  )

describe("a dataset of many sessions", () => {
  it.live("has no family in two splits, and moves nothing when sessions are added", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const folder = Path.join(root, "sessions")
      const out = Path.join(root, "out")
      const first = generate(SESSIONS, 1)
      write(folder, first)
      const splitsOf = (report: Effect.Success<ReturnType<typeof run>>) =>
        new Map(
          report.rows.flatMap(({ session_id, split }) => (split === undefined ? [] : [[session_id ?? "", split]]))
        )
      const before = yield* run(folder, out)
      const assigned = splitsOf(before)
      const check = (sessions: ReadonlyArray<Made>, splits: ReadonlyMap<string, string>): void => {
        const byOrigin = new Map<string, Set<string>>()
        for (const { id, origin } of sessions) {
          const split = splits.get(id)
          if (split === undefined) continue
          const known = byOrigin.get(origin) ?? new Set()
          byOrigin.set(origin, known.add(split))
        }
        for (const [origin, known] of byOrigin) assert.strictEqual(known.size, 1, `the family of ${origin}`)
      }
      check(first, assigned)

      // As many again as a tenth, some of them forks and repeats of those that were there.
      const all = [...first, ...generate(SESSIONS / 10, 2)]
      const random = SeededRandom.make(3)
      const grown = all.concat(
        Array.from({ length: 20 }, (_, n): Made => {
          const parent = first[random.int(first.length)] ?? first[0]!
          const header = JSON.stringify(
            Sessions.header({
              id: `late-${n}`,
              parentSession: `/x/${parent.id}.jsonl`,
              timestamp: "2026-03-01T00:00:00.000Z"
            })
          )
          const user = Sessions.user(words(random, 30))
          const answer = Sessions.assistant([Sessions.text(words(random, 40))])
          const added = [user, answer].map((payload, at) =>
            JSON.stringify({
              ...payload,
              id: `late-${n}-${at}`,
              parentId: at === 0 ? null : `late-${n}-0`,
              timestamp: "2026-03-01T00:00:00.000Z"
            })
          )
          return {
            id: `late-${n}`,
            origin: parent.origin,
            kind: "fork",
            lines: [header, ...parent.lines.slice(1, 3), ...added]
          }
        })
      )
      write(folder, grown.slice(first.length))
      const after = yield* run(folder, out)
      const again = splitsOf(after)
      check(grown, again)
      for (const [id, split] of assigned) assert.strictEqual(again.get(id), split, `${id} was moved`)

      const count = (splits: ReadonlyMap<string, string>, split: string) =>
        [...splits.values()].filter((one) => one === split).length
      process.stdout.write(
        `Splits: ${first.length} sessions, ${before.families.found} families (largest ${before.families.largest}), ` +
          `${count(assigned, "train")} train, ${count(assigned, "validation")} validation, ` +
          `${JSON.stringify(before.sessions.dropped)}; with ${grown.length}: ${count(again, "train")}, ${count(again, "validation")}\n`
      )
      const near = first.filter(({ kind }) => kind === "near-duplicate").length
      assert.isAbove(before.sessions.dropped["near_duplicate"] ?? 0, near * 0.8)
      const share = count(assigned, "validation") / assigned.size
      assert.isTrue(share > 0.1 && share < 0.3, `validation has ${share}`)
    })
  )

  it.live("does not depend on the order in which files are listed", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const sessions = generate(60, 5)
      const bytes: Array<string> = []
      for (const prefix of ["a", "z"]) {
        const folder = Path.join(root, prefix, "sessions")
        write(folder, prefix === "a" ? sessions : sessions.toReversed())
        const out = Path.join(root, prefix, "out")
        yield* run(folder, out)
        bytes.push(
          ["train.jsonl", "validation.jsonl", "splits.json"]
            .map((name) => Fs.readFileSync(Path.join(out, name), "utf8").replaceAll(folder, ""))
            .join("")
        )
      }
      assert.strictEqual(bytes[0], bytes[1])
    })
  )

  it.live("treats sessions with equal beginnings as kin, whatever entries precede them", () =>
    Effect.gen(function* () {
      const preludes: ReadonlyArray<ReadonlyArray<JsonObject>> = [
        [],
        [
          { type: "model_change", provider: "fake", modelId: "fake-1" },
          { type: "thinking_level_change", thinkingLevel: "off" }
        ],
        Array.from({ length: 20 }, (_, at) =>
          Sessions.message({
            role: "bashExecution",
            command: `ls ${at}`,
            output: "",
            exitCode: 0,
            cancelled: false,
            truncated: false
          })
        )
      ]
      for (const prelude of preludes) {
        const root = yield* memoryFolder
        for (const name of ["one", "two"]) {
          const said = [
            Sessions.user("Patrol the rig."),
            Sessions.assistant([Sessions.text("All quiet.")]),
            Sessions.user(`And ${name}?`),
            Sessions.assistant([Sessions.text(`${name} is quiet too.`)])
          ]
          const entries = [...prelude, ...said].map((payload, at) => ({
            ...payload,
            id: `${name}-${at}`,
            parentId: at === 0 ? null : `${name}-${at - 1}`,
            timestamp: "2026-01-05T10:00:00.000Z"
          }))
          const lines = [Sessions.header({ id: name }), ...entries].map((line) => JSON.stringify(line))
          Fs.mkdirSync(Path.join(root, "sessions"), { recursive: true })
          Fs.writeFileSync(Path.join(root, "sessions", `${name}.jsonl`), `${lines.join("\n")}\n`)
        }
        for (const includeNearDuplicates of [false, true]) {
          const report = yield* run(Path.join(root, "sessions"), Path.join(root, "out"), { includeNearDuplicates })
          assert.deepStrictEqual(report.families, { found: 1, largest: 2 })
          assert.strictEqual(report.total.targets, 3)
        }
      }
    })
  )

  it.live("keeps recorded splits, by hashes and by the ids of version 1", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const folder = Path.join(root, "sessions")
      const out = Path.join(root, "out")
      const made = generate(40, 9)
      write(folder, made)
      const { rows } = yield* run(folder, out)
      const splitOf = new Map(
        rows.flatMap(({ session_id = "", split }) => (split === undefined ? [] : [[session_id, split] as const]))
      )
      const splits = Path.join(out, "splits.json")
      const first = Fs.readFileSync(splits, "utf8")
      for (const { id } of made) assert.notInclude(first, `"${id}"`)
      const sha256 = (id: string) => createHash("sha256").update(id).digest("hex").slice(0, 32)
      const { kind, sessions } = JSON.parse(first)
      assert.strictEqual(kind, "pi-sessions/splits/2")
      assert.deepStrictEqual(sessions, Object.fromEntries([...splitOf].map(([id, split]) => [sha256(id), split])))

      // The opposite of what a new split would give.
      const turned = new Map(
        [...splitOf].map(([id, split]) => [id, split === "train" ? "validation" : "train"] as const)
      )
      const old = { kind: "pi-sessions/splits/1", sessions: Object.fromEntries([...turned, ["gone", "validation"]]) }
      Fs.writeFileSync(splits, JSON.stringify(old))
      const again = yield* run(folder, out)
      for (const { session_id = "", split } of again.rows) {
        if (split !== undefined) assert.strictEqual(split, turned.get(session_id))
      }
      const expected = [...turned, ["gone", "validation"] as const].map(([id, split]) => [sha256(id), split] as const)
      assert.deepStrictEqual(JSON.parse(Fs.readFileSync(splits, "utf8")), {
        kind: "pi-sessions/splits/2",
        sessions: Object.fromEntries(expected)
      })
    })
  )

  it.live("splits by time, and drops sessions that would leak", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const folder = Path.join(root, "sessions")
      const sessions = generate(200, 7)
      write(folder, sessions)
      const from = new Date(Date.UTC(2026, 0, 1) + 100 * 60_000).toISOString()
      const { rows } = yield* run(folder, Path.join(root, "out"), { split: { _tag: "Time", from } })
      const timeOf = (id: string | undefined) =>
        JSON.parse(sessions.find((made) => made.id === id)?.lines[0] ?? "{}").timestamp as string
      for (const { outcome, session_id, split } of rows) {
        if (split !== undefined) assert.strictEqual(split, timeOf(session_id) >= from ? "validation" : "train")
        if (outcome === "bridges_splits") assert.isTrue(timeOf(session_id) >= from)
      }
      assert.isAbove(rows.filter(({ outcome }) => outcome === "bridges_splits").length, 0)
      assert.isAbove(rows.filter(({ split }) => split === "validation").length, 20)
    })
  )
})

describe("Splits.assign", () => {
  const session = (id: string, family: string, role = "deacon"): Splits.SplitSession => ({
    path: `/s/${id}.jsonl`,
    sessionId: id,
    role,
    timestamp: "2026-01-01T00:00:00.000Z",
    family
  })

  it("drops only the new session that belongs to two splits", () => {
    const sessions = [session("a", "f"), session("b", "f"), session("c", "f")]
    const recorded = new Map<string, Split>([
      [Splits.keyOf("a"), "train"],
      [Splits.keyOf("b"), "validation"]
    ])
    const { bridging, splitOf } = Splits.assign(sessions, { _tag: "Share", validation: 0.5 }, recorded)
    assert.deepStrictEqual(
      [...splitOf],
      [
        ["/s/a.jsonl", "train"],
        ["/s/b.jsonl", "validation"]
      ]
    )
    assert.deepStrictEqual([...bridging], ["/s/c.jsonl"])
  })

  it("gives each role its share", () => {
    const sessions = Array.from({ length: 400 }, (_, at) =>
      session(`s${at}`, `s${at}`, at % 4 === 0 ? "mayor" : "witness")
    )
    const { splitOf } = Splits.assign(sessions, { _tag: "Share", validation: 0.1 })
    for (const role of ["mayor", "witness"]) {
      const of = sessions.filter((one) => one.role === role)
      const validation = of.filter(({ path }) => splitOf.get(path) === "validation").length
      assert.strictEqual(validation, of.length / 10, role)
    }
  })
})

describe("MinHash", () => {
  /** The similarity of two texts by definition. */
  const jaccard = (a: string, b: string): number => {
    const shingles = (text: string) => {
      const words = text.split(" ")
      return new Set(words.slice(4).map((_, at) => words.slice(at, at + 5).join(" ")))
    }
    const [left, right] = [shingles(a), shingles(b)]
    const both = [...left].filter((shingle) => right.has(shingle)).length
    return both / (left.size + right.size - both)
  }

  it("estimates the similarity of two texts", () => {
    const random = SeededRandom.make(11)
    let squares = 0
    for (let round = 0; round < 200; round++) {
      const text = words(random, 400)
      const changed = text
        .split(" ")
        .map((word) => (random.int(100) < round / 10 ? wordOf(random) : word))
        .join(" ")
      const signature = (of: string) => {
        const hash = new MinHash.MinHash()
        hash.add(of)
        return hash.signature() ?? []
      }
      const error = MinHash.similarity(signature(text), signature(changed)) - jaccard(text, changed)
      squares += error ** 2
      if (jaccard(text, changed) >= 0.95) {
        const [a, b] = [MinHash.bandsOf(signature(text)), new Set(MinHash.bandsOf(signature(changed)))]
        assert.isTrue(
          a.some((band) => b.has(band)),
          "alike texts share a band"
        )
      }
    }
    const deviation = Math.sqrt(squares / 200)
    process.stdout.write(`MinHash: the estimate is off by ${deviation.toFixed(3)} (root mean square)\n`)
    assert.isBelow(deviation, 0.08)
  })
})
