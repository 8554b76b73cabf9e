/** Rules of semantic hydration, on examples and random threads. */
import { assert, describe, it } from "@effect/vitest"
import { type JsonObject, isArray, isObject, objectAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { ID_PATTERN } from "@pi-sessions/core/SessionHeader"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SemanticHydration from "../src/hydrate/SemanticHydration.ts"
import * as ThreadReader from "../src/ThreadReader.ts"

interface Entry {
  readonly id: string
  readonly type: string
  readonly createdAt?: string
  readonly payload?: unknown
}

const read = (entries: ReadonlyArray<Entry>) =>
  ThreadReader.read(
    [Buffer.from(entries.map((entry) => `${JSON.stringify({ threadId: "th_x", ...entry })}\n`).join(""))],
    "th_x"
  )

const hydrate = (entries: ReadonlyArray<Entry>, tools: SemanticHydration.ToolMode = "pairs") =>
  SemanticHydration.hydrate(read(entries), { cwd: "/sandbox", tools })

const messagesOf = (session: Session.Session): ReadonlyArray<JsonObject> =>
  session.tree.getEntries().flatMap((entry): ReadonlyArray<JsonObject> => {
    const message = objectAt(entry.decode(), "message")
    return message === undefined ? [] : [message]
  })

const blocksOf = (message: JsonObject): ReadonlyArray<JsonObject> => {
  const blocks: Array<JsonObject> = []
  const content = message["content"]
  if (isArray(content)) for (const block of content) if (isObject(block)) blocks.push(block)
  return blocks
}

const textOf = (session: Session.Session): string => JSON.stringify(messagesOf(session))

/** The rules for a hydrated file (docs/thread.md); each comes from the real Pi. */
const assertSound = (session: Session.Session, hint: string): void => {
  const bytes = Buffer.from(Session.toBytes(session))
  const again = Session.read(bytes)
  assert.deepStrictEqual(again.diagnostics, [], hint)
  assert.strictEqual(bytes.at(-1), 0x0a, hint)
  const header = again.header?.decode() ?? {}
  assert.strictEqual(header["version"], 3)
  assert.match(String(header["id"]), ID_PATTERN)
  assert.isBelow(again.header?.bytes.length ?? 0, 512)

  const entries = again.tree.getEntries()
  assert.strictEqual(again.tree.roots().length, 1, `${hint}: one root`)
  assert.deepStrictEqual(again.tree.getBranch(), entries, `${hint}: one linear chain`)
  assert.strictEqual(new Set(entries.map(({ id }) => id)).size, entries.length, hint)

  let open: Array<unknown> = []
  for (const entry of entries) {
    const payload = entry.decode()
    if (entry.type === "compaction") {
      const at = entries.findIndex(({ id }) => id === payload["firstKeptEntryId"])
      assert.isTrue(at >= 0 && at < entries.indexOf(entry), `${hint}: boundary before its compaction`)
      assert.notStrictEqual(entries[at]?.role, "toolResult", hint)
    }
    const message = objectAt(payload, "message")
    if (message === undefined) continue
    if (message["role"] === "toolResult") {
      assert.isTrue(isArray(message["content"]), hint)
      const index = open.indexOf(message["toolCallId"])
      assert.isTrue(index >= 0, `${hint}: result without a call`)
      open.splice(index, 1)
      continue
    }
    assert.deepStrictEqual(open, [], `${hint}: every call is answered right after its turn`)
    if (message["role"] !== "assistant") continue
    assert.isTrue(isArray(message["content"]) && isObject(message["usage"]), hint)
    open = blocksOf(message).flatMap((block) => (block["type"] === "toolCall" ? [block["id"]] : []))
    const failed = message["stopReason"] === "error" || message["stopReason"] === "aborted"
    if (failed) assert.deepStrictEqual(open, [], `${hint}: a failed turn has no calls`)
    assert.isFalse(open.includes(""), hint)
  }
  assert.deepStrictEqual(open, [], hint)
}

const pickWith =
  (random: SeededRandom.SeededRandom) =>
  <A>(items: ReadonlyArray<A>): A =>
    items[random.int(items.length)]!

/** A thread with everything that mirrors, users and crashes may produce. */
const randomThread = (seed: number): ReadonlyArray<Entry> => {
  const random = SeededRandom.make(seed)
  const pick = pickWith(random)
  const entries: Array<Entry> = []
  const calls: Array<{ readonly id: string; readonly name: string }> = []
  const length = 1 + random.int(30)
  for (let n = 0; n < length; n++) {
    const base = {
      id: `th_x:${n}`,
      ...(random.chance(0.9) ? { createdAt: new Date(1_780_000_000_000 + n * 1000).toISOString() } : {})
    }
    const kind = random.int(12)
    if (kind < 3) entries.push({ ...base, type: "chat", payload: { role: "user", text: `says ${n}` } })
    else if (kind === 3) {
      entries.push({
        ...base,
        type: "chat",
        payload: { role: pick(["assistant", "system"]), text: `chat ${n}` }
      })
    } else if (kind < 8) {
      const ids = Array.from({ length: random.int(4) }, (_, i) => pick(["", `c${n}-${i}`, "same"]))
      const blocks = ids.map((id) => {
        const name = pick(["bash", "read"])
        calls.push({ id, name })
        return { type: "toolCall", id, name, arguments: { n } }
      })
      const content = random.chance(0.1) ? `text ${n}` : [{ type: "text", text: `answer ${n}` }, ...blocks]
      const stopReason = pick([undefined, "stop", "toolUse", "error", "aborted", "length"])
      entries.push({
        ...base,
        type: "pi.assistant",
        payload: { content, ...(stopReason === undefined ? {} : { stopReason }) }
      })
    } else if (kind < 11) {
      const call = calls.length > 0 && random.chance(0.85) ? pick(calls) : { id: `orphan-${n}`, name: "ls" }
      const content = pick([`out ${n}`, [{ type: "text", text: `out ${n}` }], null])
      entries.push({ ...base, type: "pi.tool_result", payload: { toolCallId: call.id, toolName: call.name, content } })
    } else {
      const keptFrom = entries.length > 0 && random.chance(0.7) ? pick(entries).id : "unknown"
      entries.push({ ...base, type: "pi.compaction", payload: { summary: `summary ${n}`, keptFrom } })
    }
    if (random.chance(0.05)) entries.push(pick(entries))
  }
  return entries
}

const first = Dose.firstSeed()
const threads = Dose.of("PI_SESSIONS_THREADS", { test: 200, campaign: 5000 })

describe("semantic hydration", () => {
  it("gives a turn the role of its type, whatever role its payload has", () => {
    for (const role of ["assistant", "user", "toolResult", "", 7, null, { role: "user" }]) {
      const hydrated = hydrate([
        { id: "u", type: "chat", payload: { role: "user", text: "hi" } },
        { id: "a", type: "pi.assistant", payload: { role, content: [{ type: "toolCall", id: "c", name: "ls" }] } },
        { id: "r", type: "pi.tool_result", payload: { role, toolCallId: "c", toolName: "ls", content: "x" } },
        { id: "b", type: "pi.assistant", payload: { content: "bye", stopReason: "stop", role } }
      ])
      if (hydrated === undefined) return assert.fail("nothing hydrated")
      assertSound(hydrated.session, JSON.stringify(role))
      assert.deepStrictEqual(
        messagesOf(hydrated.session).map((message) => message["role"]),
        ["user", "assistant", "toolResult", "assistant"]
      )
      const lines = Buffer.from(Session.toBytes(hydrated.session)).toString().trimEnd().split("\n")
      for (const line of lines) assert.isAtMost(line.split('"role":').length - 1, 1, line)
    }
  })

  it("makes a session that satisfies every rule, from any thread", () => {
    let checked = 0
    for (let seed = first; seed < first + threads; seed++) {
      const thread = randomThread(seed)
      for (const tools of ["pairs", "flatten", "omit"] as const) {
        const hydrated = hydrate(thread, tools)
        if (hydrated === undefined) continue
        assertSound(hydrated.session, `seed ${seed}, ${tools}`)
        checked++
      }
    }
    assert.isAbove(checked, threads)
  })

  it("loses no text of users, models and tools", () => {
    for (let seed = first; seed < first + threads; seed++) {
      const hydrated = hydrate(randomThread(seed))
      if (hydrated === undefined) continue
      const text = textOf(hydrated.session)
      const seen = new Set<string>()
      for (const { id, payload } of randomThread(seed)) {
        if (seen.has(id)) continue
        seen.add(id)
        for (const [word] of JSON.stringify(payload).matchAll(/(says|answer|text|out) \d+/g)) {
          assert.include(text, word, `seed ${seed}`)
        }
      }
    }
  })

  it("gives the same bytes for the same thread", () => {
    for (let seed = first; seed < first + threads / 4; seed++) {
      const [a, b] = [hydrate(randomThread(seed)), hydrate(randomThread(seed))]
      if (a === undefined || b === undefined) continue
      assert.deepStrictEqual(Session.toBytes(a.session), Session.toBytes(b.session))
    }
  })

  it("keeps the context from keptFrom on when that is known, else nothing", () => {
    const thread = (keptFrom?: string) => [
      { id: "1", type: "chat", payload: { role: "user", text: "old" } },
      {
        id: "2",
        type: "pi.assistant",
        payload: { content: [{ type: "toolCall", id: "c", name: "bash", arguments: {} }] }
      },
      { id: "3", type: "pi.tool_result", payload: { toolCallId: "c", toolName: "bash", content: "out" } },
      { id: "4", type: "pi.compaction", payload: { summary: "s", ...(keptFrom === undefined ? {} : { keptFrom }) } }
    ]
    const boundary = (keptFrom?: string) => {
      const entries = hydrate(thread(keptFrom))?.session.tree.getEntries() ?? []
      const compaction = entries.at(-1)?.decode() ?? {}
      const kept = entries.find(({ id }) => id === compaction["firstKeptEntryId"])
      return kept?.role ?? kept?.type
    }
    assert.strictEqual(boundary("1"), "user")
    assert.strictEqual(boundary("3"), "assistant", "a tool result is kept with its call")
    assert.strictEqual(boundary("gone"), "custom", "an entry that adds nothing to the context")
    assert.strictEqual(boundary(), "custom")
  })

  it("drops an assistant chat that repeats a mirrored turn, once for each turn", () => {
    const chat = (id: string, text: string) => ({ id, type: "chat", payload: { role: "assistant", text } })
    const hydrated = hydrate([
      { id: "u", type: "chat", payload: { role: "user", text: "hi" } },
      { id: "a", type: "pi.assistant", payload: { content: [{ type: "text", text: "Hello.\n" }] } },
      chat("r", "  Hello. "),
      chat("n", "Hello."),
      chat("o", "Something else.")
    ])
    assert.strictEqual(hydrated?.summary.repeatedChats, 1)
    assert.strictEqual(hydrated?.summary.assistantTurns, 3)
  })

  it("never invents token counts", () => {
    const hydrated = hydrate([
      { id: "a", type: "pi.assistant", payload: { content: "x", usage: { input: 7 } } },
      { id: "b", type: "pi.assistant", payload: { content: "y" } }
    ])
    const usages = messagesOf(hydrated!.session).map((message) => message["usage"])
    const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
    assert.deepStrictEqual(usages, [
      { input: 7, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: zero },
      { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: zero }
    ])
  })

  it("keeps images of chats and results, and names other attachments", () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" }
    const hydrated = hydrate([
      {
        id: "u",
        type: "chat",
        payload: {
          role: "user",
          text: "look",
          attachments: [
            { mimeType: "image/png", data: "AAAA" },
            { mimeType: "application/pdf", data: "BBBB" }
          ]
        }
      },
      {
        id: "a",
        type: "pi.assistant",
        payload: { content: [{ type: "toolCall", id: "c", name: "read", arguments: {} }] }
      },
      { id: "r", type: "pi.tool_result", payload: { toolCallId: "c", content: [image] } }
    ])
    const messages = messagesOf(hydrated!.session)
    assert.deepStrictEqual(blocksOf(messages[0]!), [
      { type: "text", text: "look" },
      image,
      { type: "text", text: "[attachment of type application/pdf]" }
    ])
    assert.deepStrictEqual(blocksOf(messages[2]!), [image])
    assert.strictEqual(messages[2]?.["toolName"], "read", "the call's tool name, where the result has none")
  })

  it("finds nothing to hydrate in a thread without turns", () => {
    assert.isUndefined(hydrate([]))
    assert.isUndefined(hydrate([{ id: "x", type: "pi.chunk", payload: { idx: 0 } }]))
  })

  it("keeps the header under 512 bytes with a thread id of any length", () => {
    const entries = [{ id: "u", type: "chat", payload: { role: "user", text: "hi" } }]
    const thread = { ...read(entries), id: "x".repeat(2000) }
    const session = SemanticHydration.hydrate(thread, { cwd: "/sandbox", tools: "pairs" })!.session
    assert.isBelow(session.header!.bytes.length, 512)
    assert.match(JSON.stringify(session.header!.decode()), /"threadId":"sha256:[0-9a-f]{64}"/)
  })

  const call = (id: string | undefined, n: number) => ({
    type: "toolCall",
    ...(id === undefined ? {} : { id }),
    name: "bash",
    arguments: { n }
  })
  const turn = (id: string, ...calls: ReadonlyArray<unknown>) => ({
    id,
    type: "pi.assistant",
    payload: { content: calls }
  })
  const result = (id: string, toolCallId: string | undefined, content: string) => ({
    id,
    type: "pi.tool_result",
    payload: { ...(toolCallId === undefined ? {} : { toolCallId }), toolName: "bash", content }
  })
  /** Calls and their results, in order. */
  const answers = (...entries: ReadonlyArray<Entry>): ReadonlyArray<unknown> => {
    const messages = messagesOf(hydrate(entries)!.session)
    const byId = new Map<unknown, unknown>()
    return messages.flatMap((message): ReadonlyArray<unknown> => {
      if (message["role"] === "toolResult") return [[byId.get(message["toolCallId"]), blocksOf(message)[0]?.["text"]]]
      byId.clear()
      for (const block of blocksOf(message)) if (block["type"] === "toolCall") byId.set(block["id"], block["arguments"])
      return []
    })
  }

  it("pairs results with calls of one id in order, in the newest turn with that id", () => {
    assert.deepStrictEqual(
      answers(turn("a", call("x", 1), call("x", 2)), result("r1", "x", "one"), result("r2", "x", "two")),
      [
        [{ n: 1 }, "one"],
        [{ n: 2 }, "two"]
      ]
    )
    assert.deepStrictEqual(answers(turn("a", call("x", 1)), turn("b", call("x", 2)), result("r", "x", "of b")), [
      [{ n: 2 }, "of b"]
    ])
  })

  it("pairs calls without an id only with results without an id", () => {
    assert.deepStrictEqual(answers(turn("a", call(undefined, 1), call("", 2)), result("r", undefined, "one")), [
      [{ n: 1 }, "one"]
    ])
    assert.deepStrictEqual(answers(turn("a", call("x", 1)), result("r", "", "orphan")), [])
  })

  it("derives the stop reason from the remaining content of a turn", () => {
    const reasons = (stopReason: string, ...calls: ReadonlyArray<unknown>) =>
      messagesOf(
        hydrate([
          { id: "a", type: "pi.assistant", payload: { content: [{ type: "text", text: "t" }, ...calls], stopReason } },
          result("r", "x", "out")
        ])!.session
      ).flatMap((message) => message["stopReason"] ?? [])
    assert.deepStrictEqual(reasons("toolUse", call("x", 1)), ["toolUse"])
    assert.deepStrictEqual(reasons("toolUse", call("y", 1)), ["stop"], "an unanswered call is text")
    assert.deepStrictEqual(reasons("length"), ["length"])
  })

  it("keeps from the next entry with a turn when keptFrom has none", () => {
    const entries = hydrate([
      { id: "1", type: "chat", payload: { role: "user", text: "old" } },
      { id: "2", type: "chat", payload: { role: "user", text: "" } },
      { id: "3", type: "chat", payload: { role: "user", text: "kept" } },
      { id: "4", type: "pi.compaction", payload: { summary: "s", keptFrom: "2" } }
    ])!.session.tree.getEntries()
    const kept = entries.find(({ id }) => id === entries.at(-1)?.decode()["firstKeptEntryId"])
    assert.include(kept?.text ?? "", "kept")
  })

  it("matches a chat with the nearest turn of the same text", () => {
    const said = (id: string) => ({ id, type: "pi.assistant", payload: { content: "Done." } })
    const chat = (id: string) => ({ id, type: "chat", payload: { role: "assistant", text: "Done." } })
    const ask = (id: string) => ({ id, type: "chat", payload: { role: "user", text: id } })
    const hydrated = hydrate([said("a"), ask("u1"), ask("u2"), ask("u3"), said("b"), chat("r1"), chat("r2")])!
    assert.strictEqual(hydrated.summary.repeatedChats, 1, "the turn before the nearest is behind us")
  })

  it("makes user turns of other agents' chats once the mirrored Pi is known", () => {
    const chat = (id: string, text: string, author: string) => ({
      id,
      type: "chat",
      payload: { role: "assistant", text, author: { id: author, kind: "agent" } }
    })
    const roles = (...entries: ReadonlyArray<Entry>) =>
      messagesOf(hydrate(entries)!.session).map((message) => message["role"])
    const pi = { id: "p", type: "pi.assistant", payload: { content: "Hello." } }
    assert.deepStrictEqual(roles(pi, chat("r", "Hello.", "pi"), chat("b", "I am Bob.", "bob")), ["assistant", "user"])
    assert.deepStrictEqual(
      roles(pi, chat("b", "I am Bob.", "bob")),
      ["assistant", "assistant"],
      "the mirrored Pi is unknown"
    )
  })

  it("uses the given session id when it follows Pi's rule", () => {
    const id = (sessionId: string) =>
      SemanticHydration.hydrate(read([{ id: "u", type: "chat", payload: { role: "user", text: "hi" } }]), {
        cwd: "/x",
        tools: "pairs",
        sessionId
      })!.session.header!.decode()["id"]
    assert.strictEqual(id("my.session-1"), "my.session-1")
    assert.match(String(id("../x")), /^[0-9a-f-]{36}$/)
  })

  it("marks the session as hydrated in an entry, which Pi's forks keep", () => {
    const session = hydrate([{ id: "u", type: "chat", payload: { role: "user", text: "hi" } }])!.session
    const first = session.tree.getEntries()[0]!.decode()
    assert.deepStrictEqual([first["type"], first["customType"]], ["custom", "pi-sessions.hydrated"])
  })

  it("hydrates thousands of calls, compactions and repeated chats", () => {
    const many = Dose.of("PI_SESSIONS_LINES", { test: 2000, campaign: 20_000 })
    const calls = Array.from({ length: many }, (_, n) => turn(`a${n}`, call(`c${n}`, n)))
    const results = Array.from({ length: many }, (_, n) => result(`r${n}`, `c${n}`, "out"))
    const compactions = Array.from({ length: many }, (_, n) => ({
      id: `k${n}`,
      type: "pi.compaction",
      payload: { summary: "s", keptFrom: `r${n}` }
    }))
    const chats = Array.from({ length: many }, (_, n) => ({
      id: `h${n}`,
      type: "chat",
      payload: { role: "assistant", text: "x" }
    }))
    const hydrated = hydrate([...calls, ...results, ...compactions, ...chats])!
    assert.strictEqual(hydrated.summary.toolResults, many)
    assert.strictEqual(hydrated.summary.compactions, many)
  })
})
