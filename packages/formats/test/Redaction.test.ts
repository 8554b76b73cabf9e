/**
 * Redaction of whole samples and of texts: nothing planted is left in any place that a string can stand in, what is no
 * secret stays as it is, and the sample stays a sample.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { MessagesFormat } from "../src/MessagesFormat.ts"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import * as Redaction from "@pi-sessions/redaction/Redactor"
import * as SampleRedaction from "@pi-sessions/samples/SampleRedaction"
import { ToolDefinition } from "@pi-sessions/samples/ToolDefinition"
import { TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { ToolCall, ToolResult, Turn, TurnMetadata } from "@pi-sessions/samples/Turn"
import { KINDS, PLACES, PREFIXED, characters } from "@pi-sessions/redaction/test/plantedSecrets"

const placeholders = new Placeholders("a key of this test")
const redactor = new Redaction.Redactor({ placeholders })
const redacted = (text: string, ...paths: ReadonlyArray<string>): string => redactor.scope(paths).text(text)

const IMAGE = `images/${"0a".repeat(16)}.png`

/** A sample that has every member that samples can have. */
const sample = (): TrainingSample => ({
  session_id: "0197a0de-3c5e-7a63-9f3a-0c6f5b3d2e11",
  source_path: "/srv/sessions/a.jsonl",
  cwd: "/srv/project",
  first_target: 2,
  turns: [
    turn("system", { content: "You help." }),
    turn("user", { content: "Look.", images: [IMAGE], metadata: { message_role: "custom", custom_type: "note" } }),
    turn("assistant", {
      content: "Reading.",
      tool_calls: [
        {
          id: "call_1",
          name: "bash",
          arguments: { command: "ls", options: { list: ["a", { deep: "b", count: 3 }], "a key": null } }
        }
      ],
      metadata: {
        provider: "anthropic",
        model: "a model",
        api: "messages",
        thinking_level: "high",
        stop_reason: "toolUse",
        reasoning: "Let me see.",
        usage: { input: 3, output: 4 }
      }
    }),
    turn("user", {
      content: "",
      tool_results: [{ tool_call_id: "call_1", tool_name: "bash", content: "a.txt", images: [IMAGE], is_error: false }],
      metadata: { message_role: "toolResult", unanswered: ["call_1"] }
    }),
    turn("assistant", { content: "Done." })
  ],
  rejected: turn("assistant", { content: "No." }),
  tools: [
    {
      name: "bash",
      description: "Runs a command.",
      parameters: { type: "object", properties: { command: { type: "string", description: "What to run" } } }
    }
  ],
  metadata: {
    role: "crew",
    name: "max",
    rig: "gastown",
    town: "/srv/gt",
    address: "gastown/crew/max",
    role_source: "cwd",
    role_conflict: { cwd: "crew", beacon: "mayor" },
    provider: "anthropic",
    model: "a model",
    thinking_level: "high",
    timestamp: "2026-01-05T10:00:00.000Z",
    session_name: "a name",
    parent_session: "/srv/sessions/b.jsonl",
    version: 3,
    leaf_id: "a1b2c3d4",
    entries: { file: 5, branch: 5, context: 5 },
    hydrated: false,
    tools_source: "used",
    tool_errors: 0,
    dropped: { image: 1 },
    sample: 0,
    start: "session",
    active: true,
    context: "exact",
    targets: 2,
    context_answers: 0,
    pi: "0.78",
    system_source: "session",
    harness: "pi",
    quality: ["committed"]
  }
})

const turn = (role: Turn["role"], members: Partial<Turn>): Turn => ({
  role,
  content: "",
  tool_calls: [],
  tool_results: [],
  timestamp: "2026-01-05T10:00:00.000Z",
  uuid: "0a1b2c3d",
  metadata: {},
  ...members
})

/** Members of fixed words, which no text gets into. */
const FIXED = new Set([
  "role",
  "role_source",
  "role_conflict",
  "tools_source",
  "start",
  "context",
  "pi",
  "system_source"
])
const isFixed = (path: ReadonlyArray<string>): boolean =>
  path.some((part) => part === "role_conflict" || part === "dropped" || part === "quality") ||
  (FIXED.has(path.at(-1) ?? "") && !path.includes("arguments") && !path.includes("parameters"))

/** Where strings stand, keys of arguments and schemas among them (those end in `key`). */
const places = (value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> => {
  if (typeof value === "string") return isFixed(path) ? [] : [path]
  if (typeof value !== "object" || value === null) return []
  const isFree = path.includes("arguments") || path.includes("parameters")
  return Object.entries(value).flatMap(([key, member]) => [
    ...(isFree && !Array.isArray(value) ? [[...path, key, "key"]] : []),
    ...places(member, [...path, key])
  ])
}

/** The value with a text put into one of its strings or keys. */
const put = (value: unknown, [key, ...rest]: ReadonlyArray<string>, text: string): unknown => {
  if (key === undefined) return `${String(value)} ${text}`
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? put(item, rest, text) : item))
  return Object.fromEntries(
    Object.entries(value ?? {}).map(([name, member]) => {
      if (name !== key) return [name, member]
      return rest.length === 1 && rest[0] === "key" && !isString(member) ? [text, member] : at(name, member, rest, text)
    })
  )
}

const isString = (value: unknown): boolean => typeof value === "string"
const at = (name: string, member: unknown, rest: ReadonlyArray<string>, text: string): readonly [string, unknown] =>
  rest[0] === "key" ? [`${name} ${text}`, member] : [name, put(member, rest, text)]

const decode = Schema.decodeUnknownSync(TrainingSample)

/** Puts ids and names in both places that must agree. */
const TWINS: { readonly [path: string]: string } = {
  "turns.2.tool_calls.0.id": "turns.3.tool_results.0.tool_call_id",
  "turns.3.tool_results.0.tool_call_id": "turns.2.tool_calls.0.id",
  "turns.2.tool_calls.0.name": "turns.3.tool_results.0.tool_name",
  "turns.3.tool_results.0.tool_name": "turns.2.tool_calls.0.name"
}

const planted = (path: ReadonlyArray<string>, text: string): TrainingSample => {
  const twin = TWINS[path.join(".")]
  const once = put(sample(), path, text)
  return decode(twin === undefined ? once : put(once, twin.split("."), text))
}

const line = (of: TrainingSample): string => {
  const projection = MessagesFormat.project(of)
  return projection._tag === "Sample" ? JSON.stringify(projection.sample) : ""
}

describe("a sample", () => {
  it("of these tests has every member that a sample can have", () => {
    const { metadata, tools, turns } = sample()
    const has = (fields: object, objects: ReadonlyArray<object>) => {
      const keys = new Set(objects.flatMap((object) => Object.keys(object)))
      assert.deepStrictEqual(
        Object.keys(fields).filter((key) => !keys.has(key)),
        []
      )
    }
    has(TrainingSample.fields, [sample()])
    has(TrainingSample.fields.metadata.fields, [metadata])
    has(ToolDefinition.fields, tools)
    has(Turn.fields, turns)
    has(
      TurnMetadata.fields,
      turns.map((turn) => turn.metadata)
    )
    has(
      ToolCall.fields,
      turns.flatMap((turn) => turn.tool_calls)
    )
    has(
      ToolResult.fields,
      turns.flatMap((turn) => turn.tool_results)
    )
  })

  it("without secrets comes back as it was", () => {
    const { counts, sample: after } = SampleRedaction.redact(sample(), redactor)
    const { metadata } = sample()
    assert.deepStrictEqual(after, {
      ...sample(),
      source_path: "a.jsonl",
      metadata: { ...metadata, parent_session: "b.jsonl" }
    })
    assert.deepStrictEqual(counts, {})
  })

  it("holds no planted secret in any of its strings, and is valid", () => {
    const paths = places(sample())
    assert.isAtLeast(paths.length, 50)
    for (const [index, path] of paths.entries()) {
      let seed = index
      for (const kind of Object.keys(PREFIXED)) {
        const { secret, text } = KINDS.get(kind)?.(SeededRandom.make(++seed)) ?? { secret: "", text: "" }
        const before = planted(path, text)
        assert.include(JSON.stringify(before), secret)
        const { counts, sample: after } = SampleRedaction.redact(before, redactor)
        const name = `${kind} in ${path.join(".")}`
        assert.notInclude(JSON.stringify(after), secret, name)
        assert.notInclude(JSON.stringify(counts), secret, name)
        assert.isAtLeast(Object.values(counts).length, 1, name)
        const checked = MessagesFormat.validate(line(after))
        assert.isTrue(Result.isSuccess(checked), `${name}: ${Result.isFailure(checked) ? checked.failure.message : ""}`)
      }
    }
  })

  it("holds no secret of any kind in its texts", () => {
    const texts = [
      "turns.1.content",
      "turns.2.metadata.reasoning",
      "turns.2.tool_calls.0.arguments.command",
      "turns.2.tool_calls.0.arguments.options.list.1.deep",
      "turns.3.tool_results.0.content",
      "tools.0.parameters.properties.command.description",
      "metadata.session_name"
    ]
    for (const [kind, make] of KINDS) {
      const { secret, text } = make(SeededRandom.make(7))
      const json = JSON.stringify(secret).slice(1, -1)
      for (const path of texts) {
        const { sample: after } = SampleRedaction.redact(planted(path.split("."), text), redactor)
        assert.notInclude(JSON.stringify(after), json, `${kind} in ${path}`)
      }
    }
  })

  it("keeps calls and results paired when their ids are redacted", () => {
    const path = "turns.2.tool_calls.0.id".split(".")
    const { text } = KINDS.get("github-pat")?.(SeededRandom.make(1)) ?? { text: "" }
    const { sample: after } = SampleRedaction.redact(planted(path, text), redactor)
    const id = after.turns[2]?.tool_calls[0]?.id
    assert.strictEqual(id, after.turns[3]?.tool_results[0]?.tool_call_id)
    assert.match(id ?? "", /^call_1 \[REDACTED:github-pat:\d+\]$/u)
  })

  it("loses members of arguments that keys say are secret", () => {
    const secret = characters(SeededRandom.make(3), "abcdefgh", 9)
    const args = {
      password: secret,
      env: [{ name: "DB_PASSWORD", value: secret }],
      headers: { "X-Api-Key": `${secret}A1b2C3d4E5f6` },
      passwordField: "password",
      token: "${TOKEN}"
    }
    const scope = redactor.scope([])
    const after = JSON.stringify(scope.object(args))
    assert.notInclude(after, secret)
    assert.include(after, '"passwordField":"password"')
    assert.include(after, '"token":"${TOKEN}"')
    assert.deepStrictEqual(scope.counts, { "generic-api-key": 1, password: 2 })
  })

  it("keeps both of two members whose keys become the same", () => {
    const user = placeholders.user("ann")
    const after = redactor.scope([]).object({ [`/home/${user}/x`]: 1, "/home/ann/x": 2 })
    assert.deepStrictEqual(Object.values(after), [1, 2])
  })

  it("tells of no person: home, name and address", () => {
    const home = "/home/annabel"
    const before = planted(
      ["turns", "1", "content"],
      "mail annabel@acme.dev, drwx 2 annabel staff, ~annabel, github.com/annabel"
    )
    const { counts, sample: after } = SampleRedaction.redact(
      {
        ...before,
        cwd: `${home}/project`,
        source_path: `${home}/.pi/agent/sessions/--home-annabel-project--/a.jsonl`,
        metadata: { ...before.metadata, parent_session: `${home}/b.jsonl` }
      },
      redactor
    )
    assert.notInclude(JSON.stringify(after), "annabel")
    assert.match(after.cwd, /^\/home\/user-\d{6}\/project$/u)
    assert.strictEqual(after.source_path, "a.jsonl")
    assert.deepStrictEqual(Object.keys(counts), ["email", "home-directory", "user-name"])
  })
})

describe("names of people", () => {
  const paths: ReadonlyArray<readonly [before: string, after: RegExp]> = [
    ["/home/ann/x", /^\/home\/user-\d{6}\/x$/u],
    ["/Users/ann", /^\/Users\/user-\d{6}$/u],
    ["cd /home/ann.", /^cd \/home\/user-\d{6}\.$/u],
    ["C:\\Users\\Ann Smith\\x", /^C:\\Users\\user-\d{6}\\x$/u],
    ["C:\\\\Users\\\\Ann\\\\x", /^C:\\\\Users\\\\user-\d{6}\\\\x$/u],
    ["/mnt/c/Users/ann/x", /^\/mnt\/c\/Users\/user-\d{6}\/x$/u],
    ["file:///home/ann/x", /^file:\/\/\/home\/user-\d{6}\/x$/u],
    ["p=%2Fhome%2Fann%2Fx", /^p=%2Fhome%2Fuser-\d{6}%2Fx$/u],
    ["a\\n/home/ann/x", /^a\\n\/home\/user-\d{6}\/x$/u],
    ["Ann <ann.lee@acme.dev>", /^Ann <person-\d{6}@example\.com>$/u],
    ["by\\nann.lee@acme.dev", /^by\\nperson-\d{6}@example\.com$/u]
  ]
  for (const [before, after] of paths) {
    it(`are taken out of ${before}`, () => {
      const once = redacted(before)
      assert.match(once, after)
      assert.strictEqual(redacted(once), once)
    })
  }

  const kept = [
    "/home/runner/work",
    "/home/node/app",
    "/Users/Shared/x",
    "src/home/index",
    "GET /users/ann/x",
    "git@github.com:acme/x.git",
    "someone@example.com",
    "npm i @scope/pkg@1.2.3",
    "icon@2x.png",
    "12345+bot@users.noreply.github.com",
    "@decorator class",
    "https://host/home/page"
  ]
  for (const text of kept) {
    it(`are not seen in ${text}`, () => {
      assert.strictEqual(redacted(text), text)
    })
  }

  it("that are words are taken out where they are accounts only", () => {
    const text = "mason@laptop:~$ ls -l\n-rw-r--r-- 1 mason mason 12 x\nUSER=mason a mason jar ~mason/x"
    const after = redacted(text, "/home/mason/x")
    assert.match(after, /^(user-\d{6})@laptop:~\$ ls -l\n-rw-r--r-- 1 \1 \1 12 x\nUSER=\1 a mason jar ~\1\/x$/u)
  })

  it("of machines are those of prompts", () => {
    const scope = redactor.scope(["/home/mason"], ["ok\nmason@thinkpad7:~$ ls", "mason@acme.dev"])
    assert.match(scope.text("mason@thinkpad7:~$ ping thinkpad7 acme"), /^user-\d{6}@(host-\d{6}):~\$ ping \1 acme$/u)
  })

  it("that a caller gives are taken out too", () => {
    const own = new Redaction.Redactor({ placeholders, names: { users: ["brigitte"], hosts: ["thinkpad7"] } })
    assert.match(own.scope([]).text("brigitte on thinkpad7"), /^user-\d{6} on host-\d{6}$/u)
  })
})

const hex = (seed: number, length: number): string => characters(SeededRandom.make(seed), "0123456789abcdef", length)
const uuid = "0197a0de-3c5e-7a63-9f3a-0c6f5b3d2e11"

/** Out of parts, so that no scanner trips on this file. */
const joined = (...parts: ReadonlyArray<string>): string => parts.join("")

describe("what is no secret", () => {
  const texts = [
    `commit ${hex(1, 40)}\nAuthor: a\n\n    fix`,
    `${hex(2, 64)}  a.tar.gz`,
    `sha256:${hex(3, 64)}`,
    `"integrity": "sha512-${characters(SeededRandom.make(4), "ABCDEFabcdef0123456789+/", 86)}=="`,
    `token: ${uuid}`,
    `{"type":"session","version":3,"id":"${uuid}"}`,
    `"toolCallId":"toolu_01${characters(SeededRandom.make(5), "ABCDEFabcdef0123456789", 22)}"`,
    "export OPENAI_API_KEY=$OPENAI_API_KEY",
    "api_key: ${API_KEY}",
    "password=<your-password>",
    'apiKey: process.env["API_KEY"]',
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${process.env.TOKEN}",
    `ghp_${"x".repeat(36)}`,
    joined("AKIA", "IOSFODNN7EXAMPLE"),
    joined("sk-", "1234567890abcdef".repeat(2)),
    "postgres://user:password@localhost:5432/db",
    "https://user:${PASSWORD}@host/x",
    "password: string",
    "const password = getPassword(user)",
    'type: "password"',
    "max_tokens: 4096, total_tokens=123456",
    'tokenizer = "Qwen/Qwen2.5-Coder-7B-Instruct"',
    'tokenType: "Bearer"',
    "secretName: my-app-secret-name",
    "if (token === undefined) return",
    "document.cookie = 'theme=dark; path=/'",
    joined("-----BEGIN PUBLIC", " KEY-----\nMIIB\n-----END PUBLIC KEY-----"),
    joined('key.includes("-----BEGIN PRIVATE', ' KEY-----")'),
    joined("what follows -----BEGIN PRIVATE", " KEY----- is read line by line until the end of the block is seen"),
    `data:image/png;base64,${characters(SeededRandom.make(6), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 4000)}`,
    "日本語のテキスト \u{1F600} \r\n\ttabs",
    "\uD83D lone"
  ]
  for (const text of texts) {
    it(`stays as it is: ${JSON.stringify(text).slice(0, 70)}`, () => {
      assert.strictEqual(redacted(text), text)
    })
  }
})

describe("redaction", () => {
  it("gives one secret one placeholder, under any order and any worker", () => {
    const first = KINDS.get("github-pat")?.(SeededRandom.make(1)).text ?? ""
    const second = KINDS.get("github-pat")?.(SeededRandom.make(2)).text ?? ""
    const other = new Redaction.Redactor({ placeholders: new Placeholders("a key of this test") })
    const [a, b] = redacted(`${first} ${second}`).split(" ")
    assert.strictEqual(other.scope([]).text(`${second} ${first}`), `${b} ${a}`)
    assert.notStrictEqual(a, b)
    assert.match(a ?? "", /^\[REDACTED:github-pat:\d{1,9}\]$/u)
    const foreign = new Redaction.Redactor({ placeholders: new Placeholders("another key") })
    assert.notStrictEqual(foreign.scope([]).text(first), a)
  })

  it("names what a value is by its form, where its context would do too", () => {
    const { text } = KINDS.get("github-pat")?.(SeededRandom.make(1)) ?? { text: "" }
    assert.match(redacted(`password=${text}`), /^password=\[REDACTED:github-pat:\d+\]$/u)
    assert.match(redacted(`{"token": "${text}"}`), /^\{"token": "\[REDACTED:github-pat:\d+\]"\}$/u)
  })

  it("of a token in the place of an address's user leaves the address, and counts one", () => {
    const { text } = KINDS.get("github-pat")?.(SeededRandom.make(1)) ?? { text: "" }
    const scope = redactor.scope([])
    const after = scope.text(`https://${text}@github.com/acme/x.git`)
    assert.match(after, /^https:\/\/\[REDACTED:github-pat:\d+\]@github\.com\/acme\/x\.git$/u)
    assert.deepStrictEqual(scope.counts, { "github-pat": 1 })
    assert.strictEqual(redacted(after), after)
  })

  it("takes the password behind a placeholder that is an address's user", () => {
    const address = /^https:\/\/\[REDACTED:github-pat:\d+\]:\[REDACTED:url-password:\d+\]@acme\.dev$/u
    const user = KINDS.get("github-pat")?.(SeededRandom.make(1)).text ?? ""
    for (const name of [user, "[REDACTED:github-pat:1]"]) {
      const after = redacted(`https://${name}:${joined("Harbour", "Lantern", "7")}@acme.dev`)
      assert.match(after, address)
      assert.strictEqual(redacted(after), after)
    }
    assert.match(
      redacted(joined("p=https%3A%2F%2F[REDACTED:github-pat:1]%3A", "HarbourLantern7", "%40acme.dev")),
      /^p=https%3A%2F%2F\[REDACTED:github-pat:1\]%3A\[REDACTED:url-password:\d+\]%40acme\.dev$/u
    )
  })

  it("of JSON in a text leaves JSON", () => {
    for (const [kind, make] of KINDS) {
      for (const place of ["in JSON", "in JSON in JSON"]) {
        for (let seed = 1; seed <= 5; seed++) {
          const after = redacted(PLACES[place]?.(make(SeededRandom.make(seed)).text) ?? "")
          assert.doesNotThrow(() => JSON.parse(after), `${kind} ${place}: ${after}`)
        }
      }
    }
  })

  it("of what was redacted changes nothing", () => {
    const kinds = [...KINDS.values()]
    const wrap = Object.values(PLACES)
    const joints = [
      "",
      " ",
      "\n",
      "=",
      ":",
      "/",
      "_",
      "-",
      '"',
      "\\n",
      ",",
      "password=",
      "token: ",
      "://",
      "@",
      "/home/"
    ]
    let findings = 0
    for (let seed = 1; seed <= 5000; seed++) {
      const random = SeededRandom.make(seed)
      const parts = Array.from({ length: 1 + random.int(5) }, () => {
        const { text } = kinds[random.int(kinds.length)]?.(random) ?? { text: "" }
        const placed = wrap[random.int(wrap.length)]?.(text) ?? ""
        const cut = random.chance(0.2) ? placed.slice(random.int(placed.length)) : placed
        return `${cut}${joints[random.int(joints.length)] ?? ""}`
      })
      const scope = redactor.scope(["/home/annabel/x"])
      const once = scope.text(parts.join(random.chance(0.3) ? "annabel" : ""))
      findings += Object.values(scope.counts).reduce((sum, count) => sum + count, 0)
      assert.strictEqual(redactor.scope(["/home/annabel/x"]).text(once), once, `seed ${seed}`)
    }
    assert.isAtLeast(findings, 3000)
  })
})
