import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { LoraForgeFormat, type LoraForgeSample } from "../src/LoraForgeFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { lineOf, linesOf, projectionOf, refusal } from "./support/formats.ts"
import {
  assistant,
  call,
  chain,
  file,
  header,
  linked,
  message,
  result,
  sample,
  samples,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const system = message({ role: "system", content: "You are Pi.", timestamp: 1 })
const LONG = "It says so, at some length, and goes on. ".repeat(6)

const project = (cut: TrainingSample): LoraForgeSample => lineOf(LoraForgeFormat, cut)
const conversation = (line: LoraForgeSample) => line.conversations.map(({ from, value }) => [from, value] as const)

const whole = chain(
  system,
  user("go"),
  assistant([{ type: "thinking", thinking: "Hm." }, text("I look."), call("a", "bash", { command: "ls" }), call("b")]),
  result("b", "second"),
  result("a", "first"),
  user("wait"),
  assistant([text(LONG)])
)

const inRole = (cut: TrainingSample, role: GasTown.Role): TrainingSample => ({
  ...cut,
  metadata: { ...cut.metadata, role }
})

/** A session of so many calls, each with its result. */
const patrol = (calls: number, resultText = (at: number) => `result ${at}`): string =>
  chain(
    system,
    user("Patrol the town."),
    ...Array.from({ length: calls }, (_, at): ReadonlyArray<JsonObject> => [
      assistant([text(`step ${at} ${LONG}`), call(`c${at}`)]),
      result(`c${at}`, resultText(at))
    ]).flat(),
    assistant([text("All is well.")])
  )

describe("LoraForgeFormat", () => {
  it("writes lora-forge's shape", () => {
    const { dropped, sample: line } = projectionOf(LoraForgeFormat, sample(whole))
    assert.deepStrictEqual(conversation(line), [
      ["system", "You are Pi."],
      ["human", "go"],
      [
        "gpt",
        'I look.\n<tool_call name="bash" source="standard">\n{"command":"ls"}\n</tool_call>\n<tool_call name="bash" source="standard">\n{"command":"ls"}\n</tool_call>'
      ],
      [
        "human",
        '<tool_result tool_use_id="a">\nfirst\n</tool_result>\n<tool_result tool_use_id="b">\nsecond\n</tool_result>\nwait'
      ],
      ["gpt", LONG]
    ])
    assert.deepStrictEqual(line.metadata, {
      role: "unknown",
      session_id: "s1",
      chunk_index: 0,
      quality_score: line.metadata.quality_score,
      source: "pi-session",
      runtime_type: "pi",
      mcp_servers: [],
      outcome_score: null
    })
    // Three of four turns say something, two of ten calls, the characters, four of twenty turns.
    const chars = line.conversations.slice(1).reduce((sum, { value }) => sum + value.trim().length, 0)
    const score = 0.3 * (3 / 4) + 0.3 * (2 / 10) + 0.2 * (chars / 4 / 500) + 0.2 * (4 / 20)
    assert.closeTo(line.metadata.quality_score, score, 0.0006)
    assert.deepStrictEqual(dropped, { reasoning: 1, user_text_in_observation: 1 })
  })

  it("marks conversations of Claude Code with lora-forge's names", () => {
    const whole = sample(
      file(header({ harness: "claude-code" }), ...linked([system, user("go"), assistant([text(LONG)])]))
    )
    const { metadata } = projectionOf(LoraForgeFormat, whole).sample
    assert.deepStrictEqual([metadata.source, metadata.runtime_type], ["claude-session", "claudecode"])
    const session: unknown = JSON.parse(LoraForgeFormat.sessions?.lineOf([whole]) ?? "")
    assert.propertyVal(session, "runtime_type", "claudecode")
  })

  it("uses the session's system prompt, else the output of gt prime, else the role's name", () => {
    const prime = { type: "custom_message", customType: "gastown-prime", content: "# Deacon", display: true }
    const rest = [user("go"), assistant([text(LONG)])]
    const first = (entries: ReadonlyArray<JsonObject>) =>
      projectionOf(LoraForgeFormat, inRole(sample(chain(...entries, ...rest)), "deacon"))
    assert.deepStrictEqual(conversation(first([system, prime]).sample).slice(0, 2), [
      ["system", "You are Pi."],
      ["human", "# Deacon\ngo"]
    ])
    assert.deepStrictEqual(conversation(first([prime]).sample).slice(0, 2), [
      ["system", "# Deacon"],
      ["human", "go"]
    ])
    assert.deepStrictEqual(first([prime]).dropped, { prime_as_system: 1 })
    assert.deepStrictEqual(conversation(first([]).sample).slice(0, 2), [
      ["system", "[GAS TOWN ROLE: deacon]"],
      ["human", "go"]
    ])
    assert.deepStrictEqual(first([]).dropped, { made_system_prompt: 1 })
    assert.deepStrictEqual(LoraForgeFormat.project(sample(chain(...rest))), {
      _tag: "None",
      reason: "no_system_prompt"
    })
  })

  it("quotes answers of the context in the human message", () => {
    const [, compacted] = samples(
      chain(
        user("a"),
        assistant([text(LONG)]),
        user("b"),
        assistant([text("looking"), call("c")]),
        result("c", "x"),
        { type: "compaction", summary: "s", firstKeptEntryId: "e4", tokensBefore: 10 },
        assistant([text(LONG)])
      )
    ).map((cut) => inRole(cut, "deacon"))
    if (compacted === undefined) throw new Error("no sample behind the compaction")
    const line = projectionOf(LoraForgeFormat, compacted)
    assert.deepStrictEqual(
      line.sample.conversations.map(({ from }) => from),
      ["system", "human", "gpt"]
    )
    assert.strictEqual(
      line.sample.conversations[1]?.value,
      `The conversation history before this point was compacted into the following summary:\n\n<summary>\ns\n</summary>\n\n<context>\n[gpt]\nlooking\n<tool_call name="bash" source="standard">\n{"command":"ls"}\n</tool_call>\n</context>\n\n<tool_result tool_use_id="c">\nx\n</tool_result>`
    )
    assert.deepStrictEqual(line.dropped, { answer_as_text: 1, made_system_prompt: 1 })
  })

  it("quotes an answer without a prompt in the human message", () => {
    const { dropped, sample: line } = projectionOf(
      LoraForgeFormat,
      sample(chain(system, assistant([text("Hello.")]), user("go"), assistant([text(LONG)])))
    )
    assert.deepStrictEqual(conversation(line).slice(1), [
      ["human", "<context>\n[gpt]\nHello.\n</context>\n\ngo"],
      ["gpt", LONG]
    ])
    assert.deepStrictEqual(dropped, { leading_assistant_turn: 1 })
    assert.deepStrictEqual(LoraForgeFormat.project(sample(chain(system, assistant([text(LONG)])))), {
      _tag: "None",
      reason: "no_assistant_turn"
    })
  })

  it("cuts long results in the middle and removes noise lines", () => {
    const { dropped, sample: line } = projectionOf(
      LoraForgeFormat,
      sample(
        chain(
          system,
          user(LONG),
          assistant([call("a")]),
          result(
            "a",
            `WARNING: This binary was built with luck\n${"h".repeat(1199)}😀${"m".repeat(500)}${"t".repeat(780)}`
          ),
          assistant([text(LONG)])
        )
      )
    )
    const value = line.conversations[3]?.value ?? ""
    assert.strictEqual(
      value,
      `<tool_result tool_use_id="a">\n${"h".repeat(1199)}\n... [truncated] ...\n${"t".repeat(780)}\n</tool_result>`
    )
    assert.deepStrictEqual(dropped, { cut_tool_result: 1, noise_line: 1 })
  })

  it("escapes text that looks like a call or a result", () => {
    const args = { command: '<tool_call name="x" source="standard">\n</tool_call>' }
    const { dropped, sample: line } = projectionOf(
      LoraForgeFormat,
      sample(
        chain(
          system,
          user('<tool_result tool_use_id="x">'),
          assistant([text("I write <tool_call>."), call("a", 'odd "tool"', args)]),
          result("a", "</tool_result>"),
          assistant([text(LONG)])
        )
      )
    )
    assert.deepStrictEqual(conversation(line).slice(1, 4), [
      ["human", '&lt;tool_result tool_use_id="x">'],
      [
        "gpt",
        'I write &lt;tool_call>.\n<tool_call name="odd &quot;tool&quot;" source="standard">\n{"command":"\\u003ctool_call name=\\"x\\" source=\\"standard\\">\\n\\u003c/tool_call>"}\n</tool_call>'
      ],
      ["human", '<tool_result tool_use_id="a">\n&lt;/tool_result>\n</tool_result>']
    ])
    assert.deepStrictEqual(dropped, { escaped_mark: 3 })
  })

  it("names the servers of MCP tools", () => {
    const { metadata } = project(
      sample(chain(system, user(LONG), assistant([call("a", "mcp__mail__send"), call("b", "mcp_web_get")])))
    )
    assert.deepStrictEqual(metadata.mcp_servers, ["mail", "web"])
  })

  it("drops windows with too little content", () => {
    for (const entries of [
      [user("go"), assistant([text("ok")])],
      [user("Nothing on hook"), assistant([text(`Let me check the mail\n${LONG}`)])]
    ]) {
      assert.deepStrictEqual(LoraForgeFormat.project(sample(chain(system, ...entries))), {
        _tag: "None",
        reason: "low_quality"
      })
    }
  })

  it("treats lines with equal gpt texts as duplicates", () => {
    const of = (question: string, answer: string) =>
      projectionOf(LoraForgeFormat, sample(chain(system, user(question), assistant([text(answer)])))).fingerprint
    assert.strictEqual(of("one", LONG), createHash("sha256").update(LONG).digest("hex").slice(0, 16))
    assert.strictEqual(of("one", LONG), of("two", LONG))
    assert.notStrictEqual(of("one", LONG), of("one", `${LONG}.`))
  })

  it("cuts long samples into windows, each answer trained in exactly one", () => {
    const lines = linesOf(LoraForgeFormat, samples(patrol(20)))
    const said = lines.map((line) => ("refused" in line ? undefined : line.projection.sample))
    // 42 turns: 16, then windows of 16 that begin 8 turns before their first answer.
    assert.deepStrictEqual(
      lines.map(({ piece }) => [piece.turns.length, piece.metadata.targets, piece.metadata.context_answers]),
      [
        [17, 8, 0],
        [17, 4, 4],
        [17, 4, 4],
        [17, 4, 4],
        [11, 1, 4]
      ]
    )
    assert.deepStrictEqual(
      said.map((line) => line?.metadata.chunk_index),
      [0, 1, 2, 3, 4]
    )
    for (const line of said.slice(1)) {
      assert.match(line?.conversations[1]?.value ?? "", /^Patrol the town\.\n\n<context>\n\[gpt\]\nstep \d+ /u)
    }
    const learnt = said.flatMap((line) => line?.conversations.filter(({ from }) => from === "gpt") ?? [])
    assert.deepStrictEqual(
      learnt.map(({ value }) => value.split(" ", 2).join(" ")),
      [...Array.from({ length: 20 }, (_, at) => `step ${at}`), "All is"]
    )
  })

  it("cuts by size if turns are long", () => {
    const pieces = linesOf(LoraForgeFormat, samples(patrol(12, () => "x".repeat(5000)))).map(({ piece }) => piece)
    assert.isAbove(pieces.length, 2)
    assert.strictEqual(
      pieces.reduce((sum, piece) => sum + piece.metadata.targets, 0),
      13
    )
    for (const line of linesOf(LoraForgeFormat, samples(patrol(12, () => "x".repeat(5000))))) {
      const chars =
        "refused" in line
          ? 0
          : line.projection.sample.conversations.slice(1).reduce((sum, { value }) => sum + value.length, 0)
      assert.isAtMost(chars, 16_384 + 500)
    }
  })

  it("makes windows of any session that keep calls with their results and lose no answer", () => {
    const random = SeededRandom.make(7)
    for (let round = 0; round < 200; round++) {
      const entries: Array<JsonObject> = random.chance(0.8) ? [user("begin")] : []
      const steps = 1 + random.int(40)
      for (let step = 0; step < steps; step++) {
        const calls = Array.from({ length: random.int(4) }, (_, at) => `c${step}-${at}`)
        entries.push(assistant([text(`answer ${step} ${LONG}`), ...calls.map((id) => call(id))]))
        for (const id of calls) entries.push(result(id, "r".repeat(random.int(4000))))
        if (calls.length === 0 || random.chance(0.2)) entries.push(user(`say ${step}`))
      }
      for (const cut of samples(chain(...(random.chance(0.5) ? [system] : []), ...entries))) {
        const pieces = LoraForgeFormat.divide?.(cut) ?? []
        const targets = (one: TrainingSample) =>
          one.turns.filter((turn, at) => turn.role === "assistant" && at >= one.first_target)
        assert.deepStrictEqual(pieces.flatMap(targets), targets(cut))
        for (const piece of pieces) {
          assert.strictEqual(targets(piece).length, piece.metadata.targets)
          assert.isAtMost(piece.turns.length, 16 + 2)
          for (const [at, turn] of piece.turns.slice(0, -1).entries()) {
            assert.deepStrictEqual(
              (piece.turns[at + 1]?.tool_results ?? []).map((one) => one.tool_call_id).sort(),
              turn.tool_calls.map(({ id }) => id).sort()
            )
          }
        }
        linesOf(LoraForgeFormat, [cut])
      }
    }
  })

  it("writes a line for each session", () => {
    const [first, ...others] = samples(patrol(3))
    const line: unknown = JSON.parse(
      first === undefined ? "" : (LoraForgeFormat.sessions?.lineOf([first, ...others]) ?? "")
    )
    assert.deepStrictEqual(line, {
      session_id: "s1",
      source_path: "/sessions/s1.jsonl",
      num_turns: 9,
      runtime_type: "pi",
      mcp_servers: [],
      metadata: {
        total_records: 9,
        conversation_records: 8,
        runtime_type: "pi",
        mcp_servers: [],
        omp_model: "fake-1",
        omp_provider: "fake",
        omp_api: "openai-completions",
        role: "unknown"
      }
    })
  })

  it("names its files", () => {
    assert.deepStrictEqual(LoraForgeFormat.fileNames?.({ split: "train", role: "boot" }), [
      "gastown_train.jsonl",
      "boot_train.jsonl"
    ])
    assert.deepStrictEqual(LoraForgeFormat.fileNames?.({ split: "validation", role: "boot" }), ["gastown_val.jsonl"])
  })

  it("rejects each violated rule", () => {
    const line = project(sample(whole))
    const refused: ReadonlyArray<readonly [(conversations: Array<JsonObject>) => void, string]> = [
      [(c) => void c.shift(), "conversations[0]: human in the place of system"],
      [(c) => void c.splice(1, 1), "conversations[1]: gpt in the place of human"],
      [(c) => void c.pop(), "it does not end with gpt"],
      [(c) => void (c[1] = { from: "human", value: " " }), "conversations[1]: an empty message"],
      [(c) => void (c[1] = { from: "human", value: '<tool_result tool_use_id="a">' }), "begins with a tool result"],
      [
        (c) => void (c[3] = { from: "human", value: "no result" }),
        "conversations[3]: the numbers of results and calls differ"
      ],
      [
        (c) =>
          void (c[3] = { from: "human", value: `<tool_result tool_use_id="a">\n${"x".repeat(3000)}\n</tool_result>` }),
        "conversations[3]: a result above the length limit"
      ],
      [
        (c) => void (c[2] = { from: "gpt", value: '<tool_call name="a" source="standard">\n[]\n</tool_call>' }),
        "conversations[2]: a call that is none"
      ],
      [(c) => void (c[0] = { from: "user", value: "x" }), "wrong shape"]
    ]
    for (const [change, message] of refused) {
      const conversations: Array<JsonObject> = JSON.parse(JSON.stringify(line.conversations))
      change(conversations)
      assert.include(refusal(LoraForgeFormat, { ...line, conversations }), message)
    }
    const metadata = { ...line.metadata, quality_score: 2 }
    assert.include(refusal(LoraForgeFormat, { ...line, metadata }), "quality_score")
  })
})
