import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { type Json, type JsonObject, isArray, isObject, objectAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import * as Timeline from "../src/Timeline.ts"
import { Depth, reaches } from "../src/TimelineDepth.ts"
import { type TimelineItem } from "../src/TimelineItem.ts"
import { leastDepth } from "../src/internal/leastDepth.ts"
import * as samples from "./support/samples.ts"
import * as Dose from "@pi-sessions/testing/Dose"
import { walked } from "./support/walks.ts"

const made = (session: Session.Session, leafId?: string): Timeline.Timeline => {
  const timeline = Timeline.make(session, leafId)
  if (timeline === undefined) throw new Error("there is no such entry")
  return timeline
}

const all = (session: Session.Session, depth: Depth = "full", leafId?: string): ReadonlyArray<TimelineItem> => [
  ...Timeline.items(made(session, leafId), depth)
]

/** An item in one line. */
const oneLine = ({ about, branches, entryId, failed, kind, label, parts }: TimelineItem): string =>
  [
    entryId ?? "-",
    kind,
    ...(failed ? ["failed"] : []),
    ...(label === undefined ? [] : [`[${label}]`]),
    about,
    ...parts.map((part) => {
      switch (part.part) {
        case "facts":
          return part.facts.map((fact) => fact.join(" ")).join(", ")
        case "data":
          return `${part.name}=${part.json}`
        case "image":
          return `image ${part.mimeType} ${part.sizeBytes}`
        case "tool_call":
          return `> ${part.name} ${part.arguments === undefined ? part.line : JSON.stringify(part.arguments)}`
        case "output":
          return `< ${part.text ?? `${part.line} +${part.moreLines}`}`
        case "thinking":
          return `~ ${part.text}`
        case "text":
          return part.text
      }
    }),
    ...(branches.length === 0 ? [] : [`+ ${branches.join(" ")}`])
  ]
    .filter((word) => word !== "")
    .join(" | ")

const HEADER = "- | session | 01a1fb8b-2f4a-753e-9222-6a16c79b2aa7"

describe("a timeline of a fixture", () => {
  const session = samples.fixture("sessions/project/branches.jsonl")
  const facts = "cwd /home/dev/work/app, entries 8 on this branch, 13 in all, branches 2"

  it("has at each depth the items and parts of that depth and of those before it", () => {
    const summary = "80d44d90 | branch_summary | from 5f275f0c | jest was tried; it added 270 packages."
    assert.deepStrictEqual(all(session, "session").map(oneLine), [`${HEADER} | ${facts}`, summary])
    assert.deepStrictEqual(all(session, "user").map(oneLine), [
      `${HEADER} | ${facts}`,
      "bf4e470d | user | Which test framework should we use?",
      summary,
      "a88fc4a0 | user | Use vitest instead."
    ])
    assert.deepStrictEqual(all(session, "assistant").map(oneLine), [
      `${HEADER} | ${facts}`,
      "0b85e246 | model | fake/fake-1",
      "4f78d407 | thinking_level | medium",
      "bf4e470d | user | Which test framework should we use?",
      "f6041296 | assistant | fake/fake-1, 464 tokens | Either jest or vitest. | + bb384783",
      summary,
      "a88fc4a0 | user | Use vitest instead.",
      "11559baa | assistant | fake/fake-1, 488 tokens | vitest is in; one test runs green."
    ])
    assert.deepStrictEqual(all(session, "full").map(oneLine).slice(4), [
      "f6041296 | assistant | fake/fake-1, 464 tokens | ~ Both are there. | Either jest or vitest. | + bb384783",
      `${summary} | details={"readFiles":[],"modifiedFiles":[]}`,
      "a88fc4a0 | user | Use vitest instead.",
      "11559baa | assistant | fake/fake-1, 488 tokens | vitest is in; one test runs green.",
      '5e0c754d | custom | durable-todo-ledger | data={"type":"todo_added","id":1,"text":"write more tests"}'
    ])
  })

  it("of another branch ends at the given entry", () => {
    assert.deepStrictEqual(all(session, "tools", "5f275f0c").map(oneLine).slice(4), [
      "f6041296 | assistant | fake/fake-1, 464 tokens | Either jest or vitest. | + 80d44d90",
      "bb384783 | user | Use jest.",
      "3ea1953f | assistant | fake/fake-1, 452 tokens | Installing jest. | > bash npm i -D jest",
      "5096bf2a | tool_result | bash | < added 270 packages +0",
      "76a86388 | assistant | [jest way] | fake/fake-1, 442 tokens | jest is in.",
      '5f275f0c | label | "jest way" on 76a86388'
    ])
    assert.isUndefined(Timeline.make(session, "missing"))
  })
})

describe("an item", () => {
  const one = (...entries: ReadonlyArray<JsonObject>): TimelineItem => {
    const item = all(samples.session(...entries)).at(-1)
    if (item === undefined) throw new Error("nothing")
    return item
  }

  it("describes every kind of entry", () => {
    const { entry, message } = samples
    const cases: ReadonlyArray<readonly [JsonObject, string]> = [
      [entry("session_info", "a", null, { name: " The name " }), 'a | name | "The name"'],
      [entry("session_info", "a", null, { name: "" }), "a | name | taken away"],
      [entry("label", "a", null, { targetId: "x" }), "a | label | taken off x"],
      [
        entry("compaction", "a", null, { summary: "s", tokensBefore: 51234, firstKeptEntryId: "k" }),
        "a | compaction | 51,234 tokens before, kept from k | s"
      ],
      [entry("compaction", "a", null, { summary: "s", firstKeptEntryId: "a" }), "a | compaction | nothing kept | s"],
      [
        entry("context_edit", "a", null, { targetId: "x", replacement: null }),
        "a | context_edit | takes x out of the context"
      ],
      [
        entry("context_edit", "a", null, { targetId: "x", replacement: { content: "other" } }),
        "a | context_edit | replaces the content of x in the context | other"
      ],
      [
        entry("usage", "a", null, { kind: "cache_warm", provider: "p", model: "m", usage: { totalTokens: 1400 } }),
        "a | usage | cache_warm, p/m, 1,400 tokens"
      ],
      [entry("custom", "a", null, { customType: "c", data: { n: 1 } }), 'a | custom | c | data={"n":1}'],
      [
        entry("custom_message", "a", null, { customType: "c", content: "hi", display: false }),
        "a | custom_message | c, not displayed | hi"
      ],
      [
        entry("leaf", "a", null, { targetId: "x" }),
        `a | unknown | entry of type "leaf" | payload=${JSON.stringify(entry("leaf", "a", null, { targetId: "x" }))}`
      ],
      [message("a", null, { role: "oracle" }), 'a | unknown | message of role "oracle" | payload={"role":"oracle"}'],
      [
        message("a", null, { role: "bashExecution", command: "make", output: "oops\n", exitCode: 2 }),
        "a | bash | failed | exit code 2 | !make | < oops\n"
      ],
      [
        message("a", null, { role: "bashExecution", command: "env", output: "", excludeFromContext: true }),
        "a | bash | not in the context | !!env | < "
      ],
      [
        message("a", null, { role: "toolResult", toolCallId: "c", toolName: "read", content: [], isError: true }),
        "a | tool_result | failed | read | < "
      ],
      [
        message("a", null, {
          role: "system",
          content: "",
          sections: { s: "x", t: null },
          toolsAdded: [{ name: "read" }]
        }),
        'a | system | 1 tool added | [s]\nx | [t] taken away | toolsAdded=[{"name":"read"}]'
      ],
      [
        samples.assistant("a", null, [], { stopReason: "error", errorMessage: "overloaded" }),
        "a | assistant | failed | fake/fake-1, error | overloaded"
      ],
      [
        samples.assistant("a", null, [{ type: "image", data: "aGk=", mimeType: "image/png" }, { type: "odd" }]),
        'a | assistant | fake/fake-1 | image image/png 2 | block={"type":"odd"}'
      ]
    ]
    for (const [given, expected] of cases) assert.strictEqual(oneLine(one(given)), expected)
  })

  it("has the entry's time, or its message's if the entry has none", () => {
    const at = Date.UTC(2026, 1, 1)
    const timeOf = (timestamp: Json | undefined) =>
      one({ ...samples.message("a", null, { role: "user", content: "x", timestamp: at }), timestamp }).time
    assert.strictEqual(timeOf(samples.timestamp), samples.timestamp)
    assert.strictEqual(timeOf(undefined), "2026-02-01T00:00:00.000Z")
    assert.strictEqual(timeOf("yesterday"), "2026-02-01T00:00:00.000Z")
    assert.isUndefined(one({ type: "label", id: "a", parentId: null, targetId: "x" }).time)
  })

  it("shows payloads of the wrong type and of any depth", () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`
    const line = (payload: string) => `{"type":"custom","id":"a","parentId":null,"customType":"c","data":${payload}}\n`
    const session = Session.readText(`${JSON.stringify(samples.header)}\n${line(deep)}`)
    assert.strictEqual(oneLine(all(session)[1] ?? one()), 'a | custom | c | data="nested too deeply to be shown"')
    const call = `{"type":"message","id":"b","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"","name":"t","arguments":{"x":${deep}}}]}}\n`
    const called = Session.readText(`${JSON.stringify(samples.header)}\n${call}`)
    assert.doesNotThrow(() => JSON.stringify(all(called)))
    for (const content of [null, 7, "text", {}, [null, 7, "text", {}]]) {
      for (const role of ["user", "assistant", "toolResult", "bashExecution", "custom", "system", 7]) {
        assert.doesNotThrow(() =>
          one({ ...samples.message("a", null, { role, content, command: content, usage: content }) })
        )
      }
    }
    for (const type of ["message", "compaction", "label", "session_info", "model_change", "context_edit", "usage"]) {
      assert.doesNotThrow(() => one(samples.entry(type, "a", null)))
    }
  })

  it("has the diagnostics of its line; the header has the other roots", () => {
    const orphan = samples.session(samples.user("a", null), samples.user("b", "gone"), samples.user("c", "b"))
    const [header, item] = all(orphan)
    assert.deepStrictEqual(
      item?.damage.map(({ code }) => code),
      ["unknown-parent"]
    )
    assert.deepStrictEqual(header?.branches, ["a"])
  })
})

/** Every text in an entry. */
const textsOf = (entry: SessionEntry): ReadonlyArray<string> => {
  const payload = entry.decode()
  const message = objectAt(payload, "message") ?? payload
  const content = message["content"]
  const blocks = isArray(content) ? content.filter(isObject) : []
  return [content, message["command"], message["output"], message["errorMessage"], payload["summary"]]
    .concat(blocks.flatMap((block) => [block["text"], block["thinking"]]))
    .filter((text) => typeof text === "string")
}

describe("timelines of walks through both Pis, and of all fixtures", () => {
  it.effect(
    "have every entry of the branch once, in order, with all its texts",
    Effect.fnUntraced(function* () {
      const sessions = [...(yield* walked), ...samples.fixtures().map(([name, session]) => ({ name, session }))]
      let entries = 0
      for (const { name, session } of sessions) {
        const { tree } = SessionMigration.toCurrent(session)
        for (const leaf of tree.leaves()) {
          const leafId = leaf.id ?? undefined
          const branch = tree.getBranch(leafId)
          const [header, ...items] = all(session, "full", leafId)
          assert.strictEqual(header?.kind, "session", name)
          assert.deepStrictEqual(
            items.map(({ entryId }) => entryId),
            branch.map(({ id }) => id),
            name
          )
          for (const [at, item] of items.entries()) {
            const entry = branch[at]
            if (entry === undefined) continue
            const shown = JSON.stringify(item.parts)
            for (const text of textsOf(entry)) {
              assert.include(shown, JSON.stringify(text).slice(1, -1), `${name}, ${item.entryId}`)
            }
            assert.isTrue(reaches(item.depth, leastDepth(entry)), `${name}, ${item.entryId}`)
            entries++
          }
          for (const depth of Depth.literals) {
            const shown = items.flatMap((item) => (reaches(depth, item.depth) ? [item.entryId] : []))
            const [, ...shownItems] = all(session, depth, leafId)
            assert.deepStrictEqual(
              shownItems.map(({ entryId }) => entryId),
              shown,
              `${name} at ${depth}`
            )
            for (const { parts } of shownItems) for (const part of parts) assert.isTrue(reaches(depth, part.depth))
          }
        }
      }
      assert.isAbove(entries, 500)
    })
  )

  it.effect(
    "lead back to the lines of the file",
    Effect.fnUntraced(function* () {
      const sessions = [...(yield* walked), ...samples.fixtures().map(([name, session]) => ({ name, session }))]
      for (const { name, session } of sessions) {
        const timeline = made(session)
        const lines = Timeline.originals(timeline)
        assert.lengthOf(lines, timeline.branch.length, name)
        for (const [at, line] of lines.entries()) {
          assert.isTrue(session.lines.includes(line), name)
          assert.strictEqual(line.line, timeline.branch[at]?.line, name)
        }
      }
    })
  )
})

describe("a long session", () => {
  it("is decoded once, and only where an entry appears at the depth", () => {
    const count = Dose.of("PI_SESSIONS_BENCH_ENTRIES", { test: 10_000, campaign: 100_000 })
    const entries = Array.from({ length: count }, (_, at) =>
      SessionEntry.make(
        at % 2 === 0
          ? { type: "message", ...samples.user(`e${at}`, at === 0 ? null : `e${at - 1}`) }
          : { type: "message", ...samples.assistant(`e${at}`, `e${at - 1}`) }
      )
    )
    const timeline = made(Session.fromLines(entries))
    const decode = vi.spyOn(SessionEntry.prototype, "decode")
    try {
      let items = 0
      for (const _ of Timeline.items(timeline)) items++
      assert.deepStrictEqual([items, decode.mock.calls.length], [count + 1, count])
      decode.mockClear()
      for (const _ of Timeline.items(timeline, "user")) items--
      assert.deepStrictEqual([items, decode.mock.calls.length], [count / 2, count / 2])
    } finally {
      decode.mockRestore()
    }
  })
})
