/** Reading a growing, damaged or rewritten session file. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import { type JsonObject } from "@pi-sessions/core/Json"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as LosslessHydration from "../src/hydrate/LosslessHydration.ts"
import { type FollowState, initial } from "../src/mirror/FollowState.ts"
import * as SessionFollower from "../src/mirror/SessionFollower.ts"
import * as ThreadReader from "../src/ThreadReader.ts"

const seed = Dose.firstSeed()
const rounds = Dose.of("PI_SESSIONS_ROUNDS", { test: 15, campaign: 2000 })

const header = '{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/"}'

const assistant = (id: string, parentId: string | null, text: string, second = 1) =>
  JSON.stringify({
    type: "message",
    id,
    parentId,
    timestamp: `2026-01-05T10:00:0${second}.000Z`,
    message: { role: "assistant", content: [{ type: "text", text }], usage: {}, timestamp: 1767607200000 + second }
  })

/** Lines of every kind: whole, damaged, glued, blank, not UTF-8, with U+2028. */
const LINES: ReadonlyArray<string | Buffer> = [
  header,
  '{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-05T10:00:00.500Z","message":{"role":"user","content":"hi \u2028 🧪"}}',
  assistant("a1", "u1", "first"),
  "",
  '{"type":"message","id":"to',
  `${assistant("a2", "a1", "glued", 2)}${assistant("a3", "a2", "to this", 3)}`,
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  "null",
  `${assistant("a4", "a1", "with a carriage return", 4)}\r`,
  '{"type":"compaction","id":"c1","parentId":"a4","timestamp":"2026-01-05T10:00:05.000Z","summary":"so far","firstKeptEntryId":"u1","tokensBefore":10}',
  `{"type":"custom","id":"x1","parentId":"c1","timestamp":"no time at all","customType":"big","data":"${"x".repeat(3000)}"}`
]

const fileOf = (lines: ReadonlyArray<string | Buffer>): Buffer =>
  Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from("\n")]))

const start = (file: string): FollowState => initial({ file, threadId: "th", sessionId: "s1" })

/** Reads to the end, and starts a new generation where the file was rewritten. */
const followAll = Effect.fnUntraced(function* (from: FollowState, limits?: SessionFollower.FollowLimits) {
  const follower = yield* SessionFollower.make(from.file)
  const entries: Array<JsonObject> = []
  let state = from
  for (;;) {
    const step = yield* follower.next(state, limits)
    if (step._tag === "Nothing") return { entries, state }
    if (step._tag === "Rewritten") state = initial(state, state.generation + 1)
    else {
      entries.push(...step.entries)
      state = step.state
    }
  }
})

const threadOf = (entries: ReadonlyArray<JsonObject>) =>
  ThreadReader.read([Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""))], "th")

/** The file, joined from raw entries. */
const assembled = (entries: ReadonlyArray<JsonObject>): Buffer => {
  const lineage = LosslessHydration.choose(threadOf(entries))
  if (lineage === undefined) return Buffer.alloc(0)
  assert.deepStrictEqual(LosslessHydration.gaps(lineage), [])
  return Buffer.from(Session.toBytes(LosslessHydration.assemble(lineage, undefined)))
}

const inFile = <A, E>(
  use: (file: string, write: (bytes: string | Buffer) => void) => Effect.Effect<A, E, NodeServices.NodeServices>
) =>
  Effect.gen(function* () {
    const file = Path.join(yield* temporaryFolder, "session.jsonl")
    return yield* use(file, (bytes) => Fs.writeFileSync(file, bytes))
  }).pipe(Effect.provide(NodeServices.layer))

const typesOf = (entries: ReadonlyArray<JsonObject>) => entries.map(({ type }) => type)

describe("SessionFollower", () => {
  it.effect("returns every line, also damaged ones, and their projections", () =>
    inFile((file, write) =>
      Effect.gen(function* () {
        write(fileOf(LINES))
        const { entries, state } = yield* followAll(start(file))
        assert.deepStrictEqual(assembled(entries), fileOf(LINES))
        assert.strictEqual(state.seq, LINES.length - 1)
        assert.deepStrictEqual(threadOf(entries).diagnostics, [])
        const projected = entries.filter(({ type }) => type !== "pi.session_entry" && type !== "pi.session_header")
        assert.deepStrictEqual(typesOf(projected), ["pi.assistant", "pi.assistant", "pi.compaction"])
        assert.deepInclude(projected[2]?.["payload"], { summary: "so far", keptFrom: projected[0]?.["id"] })
        assert.isTrue(projected.every(({ id }) => /^th:pi:idx:\d+$/.test(String(id))))
        assert.strictEqual(entries[0]?.["createdAt"], "2026-01-05T10:00:00.000Z")
        assert.notProperty(entries.at(-1), "createdAt", "no time is made up")
      })
    )
  )

  it.effect("returns nothing for a file that is missing, empty, or without a whole line", () =>
    inFile((file, write) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* followAll(start(file)), { entries: [], state: start(file) })
        write("")
        assert.deepStrictEqual((yield* followAll(start(file))).entries, [])
        write(header)
        assert.deepStrictEqual((yield* followAll(start(file))).entries, [])
        write(`${header}\n{"type":"message"`)
        assert.deepStrictEqual(typesOf((yield* followAll(start(file))).entries), ["pi.session_header"])
      })
    )
  )

  it.effect("makes the same entries for every way in which the bytes arrive and are read", () =>
    inFile((file, write) =>
      Effect.gen(function* () {
        const random = SeededRandom.make(seed)
        const bytes = fileOf(LINES)
        write(bytes)
        const { entries: whole } = yield* followAll(start(file))
        for (let round = 0; round < rounds; round++) {
          write("")
          let state = start(file)
          const entries: Array<JsonObject> = []
          for (let at = 0; at < bytes.length;) {
            const length = 1 + random.int(random.chance(0.5) ? 40 : 2000)
            Fs.appendFileSync(file, bytes.subarray(at, at + length))
            at += length
            const limits = { maxBytes: 1 + random.int(600), maxLines: 1 + random.int(4) }
            // A restarted mirror has only its state from disk.
            const resumed: FollowState = JSON.parse(JSON.stringify(state))
            const followed = yield* followAll(resumed, limits)
            entries.push(...followed.entries)
            state = followed.state
          }
          assert.deepStrictEqual(entries, whole, `seed ${seed}, round ${round}`)
        }
      })
    )
  )

  it.effect("starts a new generation when the file was rewritten, truncated, or replaced", () =>
    inFile((file, write) =>
      Effect.gen(function* () {
        const bytes = fileOf(LINES)
        const other = Buffer.from(bytes)
        other[header.length + 40] = 0x2a
        const rewritten: ReadonlyArray<readonly [string, Buffer]> = [
          ["another header", Buffer.from(bytes.toString("latin1").replace('"version":3', '"version":4'), "latin1")],
          ["one line less", fileOf(LINES.slice(0, -1))],
          ["the last line torn", bytes.subarray(0, -1)],
          ["another last line", fileOf([...LINES.slice(0, -1), "{}", "{}", "x".repeat(4000)])],
          ["shifted by a byte", fileOf([header, " ", ...LINES.slice(1)])]
        ]
        for (const [what, now] of rewritten) {
          write(bytes)
          const before = yield* followAll(start(file))
          write(now)
          const { entries, state } = yield* followAll(before.state)
          assert.strictEqual(state.generation, 1, what)
          const whole = now.subarray(0, now.lastIndexOf(0x0a) + 1)
          assert.deepStrictEqual(assembled([...before.entries, ...entries]), whole, what)
          const again = yield* followAll(state)
          assert.deepStrictEqual(again, { entries: [], state }, what)
        }
      })
    )
  )

  it.effect("gives unchanged turns the same projection ids after a rewrite", () =>
    inFile((file, write) =>
      Effect.gen(function* () {
        write(fileOf([header, assistant("a1", null, "said"), assistant("a2", "a1", "more", 2)]))
        const before = yield* followAll(start(file))
        const migrated = header.replace('"version":3', '"version":4')
        write(fileOf([migrated, assistant("b1", null, "said"), assistant("b2", "b1", "more", 2)]))
        const after = yield* followAll(before.state)
        const ids = (entries: ReadonlyArray<JsonObject>) =>
          entries.filter(({ type }) => type === "pi.assistant").map(({ id }) => id)
        assert.deepStrictEqual(ids(after.entries), ids(before.entries))
        assert.strictEqual(new Set(ids(after.entries)).size, 2)
      })
    )
  )

  it.effect("derives ids by the rules of docs/thread.md", () =>
    inFile((file, write) =>
      Effect.gen(function* () {
        const n = (...parts: ReadonlyArray<string>) =>
          BigInt(`0x${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 13)}`)
        const said = { role: "assistant", content: [{ type: "text", text: "é" }], timestamp: 5 }
        const result = { role: "toolResult", toolCallId: "c", toolName: "bash", content: [], isError: false }
        const compaction = { type: "compaction", id: "c1", parentId: "r1", timestamp: "t3", summary: "so far" }
        write(
          fileOf([
            header,
            JSON.stringify({ type: "message", id: "a1", parentId: null, timestamp: "t1", message: said }),
            JSON.stringify({ type: "message", id: "r1", parentId: "a1", timestamp: "t2", message: result }),
            JSON.stringify({ ...compaction, firstKeptEntryId: "a1", tokensBefore: 7 })
          ])
        )
        const { entries } = yield* followAll(start(file))
        const first = `th:pi:idx:${n("pi.assistant", "", '{"content":[{"type":"text","text":"é"}],"timestamp":5}')}`
        assert.deepStrictEqual(
          entries.map(({ id }) => id),
          [
            "th:pi:raw:s1:0:0",
            "th:pi:raw:s1:0:1",
            first,
            "th:pi:raw:s1:0:2",
            `th:pi:idx:${n("pi.tool_result", "t2", '{"toolCallId":"c","toolName":"bash","content":[],"isError":false}')}`,
            "th:pi:raw:s1:0:3",
            `th:pi:idx:${n("pi.compaction", "t3", '{"summary":"so far","tokensBefore":7}')}`
          ]
        )
        assert.deepInclude(entries.at(-1)?.["payload"], { keptFrom: first })
      })
    )
  )

  it.effect("continues a thread that has some of the file, and starts again in one with other lines", () =>
    inFile((file, write) =>
      Effect.gen(function* () {
        const bytes = fileOf(LINES)
        write(bytes)
        const { entries, state } = yield* followAll(start(file))
        const follower = yield* SessionFollower.make(file)
        const adopt = (held: ReadonlyArray<JsonObject>) => {
          const lineage = LosslessHydration.choose(threadOf(held))
          return lineage === undefined ? Effect.succeed(start(file)) : follower.adopt(start(file), lineage)
        }
        const raw = entries.filter(({ type }) => type === "pi.session_header" || type === "pi.session_entry")
        assert.deepStrictEqual(yield* adopt(raw), state)
        assert.deepInclude(yield* adopt(raw.slice(0, 4)), { generation: 0, seq: 3 })
        assert.deepInclude(yield* adopt(raw.toSpliced(2, 1)), { generation: 0, seq: 1 }, "from before the gap")
        assert.deepInclude(yield* adopt(raw.slice(1)), { generation: 0, seq: -1 }, "without its header")

        write(fileOf([header.replace('"cwd":"/"', '"cwd":"/elsewhere"'), ...LINES.slice(1)]))
        assert.deepInclude(yield* adopt(raw), { generation: 0, seq: state.seq }, "hydrated for another cwd")
        write(fileOf([...LINES.slice(0, 3), "{}", ...LINES.slice(4)]))
        assert.deepInclude(yield* adopt(raw), { generation: 1, seq: -1 }, "another line")
        write(fileOf(LINES.slice(0, 5)))
        assert.deepInclude(yield* adopt(raw), { generation: 1, seq: -1 }, "a file that is behind")
      })
    )
  )
})
