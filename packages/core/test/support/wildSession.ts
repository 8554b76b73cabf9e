/**
 * Session files that no Pi wrote but each Pi opens: parents that are unknown, later or missing, ids used twice, odd
 * timestamps, payloads with missing members, lines that are not JSON or have two entries. No cycles: Pi loops forever.
 */
import type * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Json, type JsonObject } from "../../src/Json.ts"

type Random = SeededRandom.SeededRandom

const oneOf = (random: Random, ...values: ReadonlyArray<Json | undefined>): Json | undefined =>
  values[random.int(values.length)]

const blocks = (random: Random): Json =>
  Array.from({ length: random.int(3) }, (_, at) =>
    random.chance(0.8) ? { type: "text", text: `text ${at}` } : { type: "image", data: "aW1n", mimeType: "image/png" }
  )

const content = (random: Random): Json | undefined =>
  random.chance(0.4) ? blocks(random) : oneOf(random, "string", "text", "more", "", null, undefined)

const assistantMessage = (random: Random): JsonObject => ({
  role: "assistant",
  content: random.chance(0.85) ? blocks(random) : (content(random) ?? null),
  provider: random.pick(["fake", "other"] as const),
  model: random.chance(0.9) ? "fake-1" : undefined,
  usage: {},
  stopReason: random.pick(["stop", "toolUse", "error", "aborted"] as const),
  timestamp: random.int(100)
})

const message = (random: Random): JsonObject =>
  random.weighted<() => JsonObject>(
    [6, () => ({ role: "user", content: content(random), timestamp: random.int(100) })],
    [6, () => assistantMessage(random)],
    [3, () => ({ role: "toolResult", toolCallId: "call", content: content(random), isError: false })],
    [
      2,
      () => ({
        role: "bashExecution",
        command: "ls",
        output: random.chance(0.5) ? "out" : "",
        exitCode: oneOf(random, 0, 1, null, undefined),
        cancelled: random.chance(0.3),
        truncated: random.chance(0.5),
        fullOutputPath: random.chance(0.5) ? "/tmp/out" : undefined,
        excludeFromContext: random.chance(0.3)
      })
    ],
    [2, () => ({ role: "custom", customType: "note", content: content(random) ?? "x", display: true })],
    [2, () => ({ role: "hookMessage", customType: "note", content: "old", display: true })],
    [2, () => ({ role: "system", content: content(random), sections: { rules: "r" } })],
    [1, () => ({ role: "somebody", content: "else" })]
  )()

/** The payload of the entry `at`; `anyId` gives known and unknown ids. */
const payload = (random: Random, at: number, anyId: () => string, version: number): JsonObject =>
  random.weighted<() => JsonObject>(
    [14, () => ({ type: "message", message: message(random) })],
    [2, () => ({ type: "thinking_level_change", thinkingLevel: random.pick(["off", "high"] as const) })],
    [2, () => ({ type: "model_change", provider: "fake", modelId: random.pick(["a", "b"] as const) })],
    [
      3,
      () => ({
        type: "compaction",
        summary: random.pick(["", "so far"] as const),
        // Version 1 counts entries from the header, which is 0.
        firstKeptEntryIndex: version === 1 && random.chance(0.9) ? oneOf(random, random.int(at + 2), 99) : undefined,
        firstKeptEntryId: version > 1 && random.chance(0.9) ? oneOf(random, anyId(), anyId(), `e${at}`) : undefined,
        tokensBefore: random.int(9),
        systemMessage: random.chance(0.3) ? { role: "system", content: "be good" } : undefined
      })
    ],
    [
      2,
      () => ({
        type: "branch_summary",
        fromId: anyId(),
        summary: random.chance(0.3) ? undefined : "left",
        fromHook: true
      })
    ],
    [1, () => ({ type: "custom", customType: "todo", data: null })],
    [2, () => ({ type: "custom_message", customType: "note", content: content(random), display: random.chance(0.5) })],
    [
      3,
      () => ({
        type: "label",
        targetId: anyId(),
        label: oneOf(random, "x", "", "y", undefined)
      })
    ],
    [1, () => ({ type: "session_info", name: random.pick([" name ", "", "  "] as const) })],
    [1, () => ({ type: "session_info" })],
    [
      3,
      () => ({
        type: "context_edit",
        targetId: anyId(),
        replacement: random.chance(0.4) ? null : { content: random.chance(0.5) ? "edited" : blocks(random) }
      })
    ],
    [1, () => ({ type: "usage", kind: "cache_warm", provider: "fake", model: "fake-1", usage: {} })],
    [1, () => ({ type: "leaf", targetId: anyId() })]
  )()

/** Whether the parents of an entry lead back to it. */
const isOnCircle = (parents: ReadonlyMap<string, string>, id: string): boolean => {
  let at = parents.get(id)
  for (let steps = 0; at !== undefined && at !== id && steps <= parents.size; steps++) at = parents.get(at)
  return at !== undefined
}

const glued = '{"type":"custom","id":"g","parentId":null,"timestamp":"2026-01-05T10:00:00.000Z","customType":"glued"}'

const oddLines = [
  "",
  "  ",
  "not json",
  "\u00a0",
  "[1",
  '{"type":"message","id":"torn',
  glued + glued,
  `{"type":"message","id":"torn${glued}`,
  '{"type":"session","version":3,"id":"again"}'
] as const

/** The text of a file of this version; undefined: without a version. */
export const make = (random: Random, version: 1 | 2 | 3 | undefined): string => {
  const hasIds = version === 2 || version === 3 || random.chance(0.2)
  const count = 1 + random.int(30)
  const ids = Array.from({ length: count }, (_, at) => `e${at}`)
  const anyId = (): string => (random.chance(0.1) ? "unknown" : (ids[random.int(count)] ?? "unknown"))
  const parents = new Map<string, string>()
  const lines: Array<string> = []
  for (const [at, ownId] of ids.entries()) {
    const id = random.chance(0.03) ? (ids[random.int(at)] ?? ownId) : ownId
    if (random.chance(0.05)) lines.push(random.pick(oddLines))
    const parentId = random.weighted<() => string | null | undefined>(
      [60, () => ids[at - 1] ?? null],
      [25, () => ids[random.int(at)] ?? null],
      [5, () => null],
      [4, anyId],
      [3, () => undefined],
      [3, () => ""]
    )()
    parents.delete(id)
    if (typeof parentId === "string") parents.set(id, parentId)
    const isCut = isOnCircle(parents, id)
    if (isCut) parents.delete(id)
    const timestamp = random.weighted<() => string | undefined>(
      [20, () => `2026-01-05T10:00:0${random.int(10)}.000Z`],
      [1, () => undefined],
      [1, () => "some day"]
    )()
    const base = hasIds ? { id, parentId: isCut ? null : parentId } : {}
    lines.push(JSON.stringify({ ...base, timestamp, ...payload(random, at, anyId, version ?? 1) }))
  }
  const header = { type: "session", version, id: "wild", timestamp: "2026-01-05T10:00:00.000Z", cwd: "/work" }
  return `${[JSON.stringify(header), ...lines].join("\n")}\n`
}
