/** Format `pi`: real Pis open the redacted sessions, and planted secrets are gone. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as ExactSecrets from "@pi-sessions/redaction/ExactSecrets"
import * as LooseFile from "../src/files/LooseFile.ts"
import * as PiFormat from "@pi-sessions/formats/PiFormat"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { KINDS } from "@pi-sessions/redaction/test/plantedSecrets"
import {
  assistant,
  call,
  file,
  header,
  image,
  linked,
  message,
  result,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 3, campaign: 100 })
const FIRST_SEED = Dose.firstSeed()
const FIXTURES = new URL("../../../fixtures/", import.meta.url)

const placeholders = new Placeholders("a key of this test")
const redactor = new Redactor({ placeholders })

// Made of parts, so that no scanner trips on this file.
const token = ["ghp", "q8Zr2mXw7KcVt4LsBy9NpEa3JdHf6UgR1oTi"].join("_")
const MARK = `,"redacted":{"by":"pi-sessions"}`

const read = (content: string | Uint8Array): Session.Session =>
  typeof content === "string" ? Session.readText(content) : Session.read(content)

/** What is written, after it was read again. */
const written = (content: string | Uint8Array, by: Redactor | undefined = redactor): string => {
  const made = PiFormat.project(read(content), by)
  const checked = PiFormat.validate(made.bytes)
  if (Result.isFailure(checked)) throw checked.failure
  return Buffer.from(made.bytes).toString()
}

const fixtures = ["sessions/gt", "sessions/project", "damaged", "unsound"].flatMap((folder) =>
  Fs.readdirSync(new URL(`${folder}/`, FIXTURES))
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => `${folder}/${name}`)
)
const bytesOf = (name: string): Buffer => Fs.readFileSync(new URL(name, FIXTURES))

/** Without signatures, by another way than that of the format. */
const unsigned = (value: Json): Json => {
  if (isArray(value)) return value.map(unsigned)
  if (!isObject(value)) return value
  const signature = { thinking: "thinkingSignature", text: "textSignature", toolCall: "thoughtSignature" }
  const type = value["type"]
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): ReadonlyArray<readonly [string, Json]> => {
      const isSignature =
        typeof member === "string" && Object.entries(signature).some(([name, own]) => name === type && own === key)
      return isSignature || member === undefined ? [] : [[key, unsigned(member)]]
    })
  )
}

const asJson = (line: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(line)
    return value
  } catch {
    return undefined
  }
}

/** Without a redactor a file is what it was, but for signatures and a byte order mark. */
const checkPlain = (bytes: Uint8Array, name: string): void => {
  const before = Buffer.from(bytes)
    .toString("latin1")
    .replace(/^\u00ef\u00bb\u00bf/u, "")
    .split("\n")
  const made = PiFormat.project(Session.read(bytes), undefined)
  const after = Buffer.from(made.bytes).toString("latin1").split("\n")
  assert.strictEqual(after.length, before.length, name)
  let removed = 0
  for (const [at, line] of before.entries()) {
    const parsed = asJson(line)
    const plain = parsed === undefined ? undefined : unsigned(parsed)
    if (plain === undefined || JSON.stringify(plain) === JSON.stringify(parsed)) {
      assert.strictEqual(after[at], line, `${name}:${at + 1}`)
    } else {
      assert.deepStrictEqual(asJson(after[at] ?? ""), plain, `${name}:${at + 1}`)
      removed += (line.match(/"(?:thinking|text|thought)Signature":/gu) ?? []).length
    }
  }
  assert.deepStrictEqual(made.dropped, removed === 0 ? {} : { signature: removed }, name)
  assert.deepStrictEqual(made.redacted, {})
}

const walks = Effect.fnUntraced(function* (version: PiVersion.PiVersion, cwd: string) {
  const root = yield* memoryFolder
  const files: Array<string> = []
  for (let seed = FIRST_SEED; seed < FIRST_SEED + WALKS; seed++) {
    const dir = Path.join(root, String(seed))
    files.push(...(yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd }))).files)
  }
  return files
})

const shape = (nodes: ReadonlyArray<PiModule.PiTreeNode>): Json =>
  nodes.map(({ children, entry, label }) => [entry.type, entry.id, entry.parentId, label ?? null, shape(children)])

/** What Pi makes of a file: all that must stay. */
const opened = (pi: PiModule.PiModule, path: string) => {
  const manager = pi.SessionManager.open(path, Path.dirname(path))
  const { messages, model, thinkingLevel } = manager.buildSessionContext()
  return {
    tree: shape(manager.getTree()),
    entries: manager.getEntries().map(({ id, parentId, timestamp, type }) => [type, id, parentId, timestamp]),
    leaf: manager.getLeafId(),
    roles: messages.map(({ role }) => role),
    sent: pi.convertToLlm(messages).length,
    model,
    thinkingLevel,
    id: manager.getSessionId()
  }
}

describe.each(PiVersion.versions)("Pi %s", (version) => {
  it.live("opens redacted sessions with the same tree, entries and context", () =>
    Effect.gen(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const folder = yield* memoryFolder
      const own = yield* walks(version, "/home/annabelle/project")
      // Version 1 has no ids, and Pi makes random ones each time that it opens a file.
      const genuine = fixtures.filter((name) => name.startsWith("sessions/") && !name.endsWith("version-1.jsonl"))
      let changed = 0
      for (const [at, path] of [...own, ...genuine].entries()) {
        const bytes = Fs.existsSync(path) ? Fs.readFileSync(path) : bytesOf(path)
        const made = written(bytes)
        const [before, after] = ["before", "after"].map((name) => Path.join(folder, `${at}-${name}.jsonl`))
        if (before === undefined || after === undefined) throw new Error("no names")
        Fs.writeFileSync(before, bytes)
        Fs.writeFileSync(after, made)
        assert.deepStrictEqual(opened(pi, after), opened(pi, before), path)
        assert.strictEqual(Fs.readFileSync(after, "utf8"), made, "and leaves it as it is")
        assert.notInclude(made, "annabelle", path)
        if (made !== bytes.toString()) changed++
      }
      assert.isAbove(changed, WALKS)
    })
  )

  it.live("continues a redacted session", () =>
    Effect.gen(function* () {
      const pi = yield* HermeticPi.make()
      const session = file(
        header({ cwd: pi.cwd }),
        ...linked([
          user(`use ${token}`),
          assistant([
            { type: "thinking", thinking: "hm", thinkingSignature: "AAAA", redacted: false },
            text("I take it."),
            { ...call("c1", "read", { path: token }), thoughtSignature: "BBBB" }
          ]),
          result("c1", `it is ${token}`, "read"),
          assistant([text("done")])
        ])
      )
      const path = Path.join(pi.sessionDir, "s.jsonl")
      Fs.writeFileSync(path, written(session))
      const run = yield* pi.prompt(version, path, "and now?")
      assert.strictEqual(run.exitCode, 0, run.stderr)
      const sent = (yield* pi.requests).at(-1)?.messages.filter(({ role }) => role !== "system" && role !== "developer")
      assert.deepStrictEqual(
        sent?.map(({ role }) => role),
        ["user", "assistant", "tool", "assistant", "user"]
      )
      assert.notInclude(JSON.stringify(sent), token)
    })
  )

  it.live("writes sessions that keep their bytes without a redactor, but for signatures", () =>
    Effect.gen(function* () {
      for (const path of yield* walks(version, "/srv/project")) checkPlain(Fs.readFileSync(path), path)
    })
  )
})

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0.1 } }

/** A session with every entry, role, block and member that Pi writes, and some that it does not know. */
const everything: ReadonlyArray<JsonObject> = [
  header({ parentSession: "/srv/sessions/a.jsonl", provider: "p", odd: { deep: ["x", { y: "z" }] } }),
  ...linked([
    { type: "model_change", provider: "anthropic", modelId: "m" },
    { type: "thinking_level_change", thinkingLevel: "high" },
    message({
      role: "system",
      content: [text("You help.")],
      sections: { tools: "read" },
      toolsAdded: [{ name: "read", description: "Reads", parameters: { type: "object", properties: { p: {} } } }],
      toolsRemoved: [{ name: "ls" }]
    }),
    user([text("look"), { type: "image", data: PNG, mimeType: "image/png" }, { ...image }]),
    assistant(
      [
        { type: "thinking", thinking: "hm", thinkingSignature: "sig", redacted: false },
        { ...text("reading"), textSignature: "sig" },
        { ...call("c1", "read", { path: "a", env: [{ name: "HOST", value: "b" }] }), thoughtSignature: "sig" },
        { type: "odd_block", what: "ever" }
      ],
      { responseId: "r", errorMessage: "e", diagnostics: [{ type: "d", error: { text: "e" }, details: { a: "b" } }] }
    ),
    result("c1", "content", "read", {
      details: { diff: "+a", truncation: { content: "c" }, list: ["x"] },
      nestedCalls: { calls: [{ id: "n", name: "bash", arguments: { command: "ls" }, error: "e" }], complete: true }
    }),
    message({ role: "bashExecution", command: "ls", output: "a", exitCode: 0, fullOutputPath: "/tmp/x" }),
    { type: "custom_message", customType: "note", content: "said", display: true, details: { a: { b: "c" } } },
    { type: "custom", customType: "state", data: { key: "k", value: "v", list: ["a", ["b"]], none: null } },
    { type: "branch_summary", fromId: "e4", summary: "s", details: { readFiles: ["a"], modifiedFiles: [] }, usage },
    { type: "compaction", summary: "s", firstKeptEntryId: "e4", tokensBefore: 1, systemMessage: { content: "x" } },
    { type: "label", targetId: "e4", label: "l" },
    { type: "session_info", name: "n" },
    { type: "usage", kind: "cache_warm", provider: "p", model: "m", usage, note: "n" },
    { type: "context_edit", targetId: "e4", replacement: { content: [text("new")] } },
    { type: "odd_entry", anything: { goes: ["here"] } }
  ])
]

type Path = ReadonlyArray<string | number>

/** The places of all strings, and of all objects. */
const places = (value: Json | undefined, at: Path = []): { strings: Array<Path>; objects: Array<Path> } => {
  const found = { strings: new Array<Path>(), objects: new Array<Path>() }
  if (typeof value === "string") found.strings.push(at)
  if (typeof value !== "object" || value === null) return found
  if (!isArray(value)) found.objects.push(at)
  for (const [key, member] of Object.entries(value)) {
    const below = places(member, [...at, isArray(value) ? Number(key) : key])
    found.strings.push(...below.strings)
    found.objects.push(...below.objects)
  }
  return found
}

const changedAt = (value: Json | undefined, at: Path, change: (value: Json | undefined) => Json): Json => {
  const [key, ...rest] = at
  if (key === undefined) return change(value)
  if (isArray(value)) return value.map((item, i) => (i === key ? changedAt(item, rest, change) : item))
  if (!isObject(value)) throw new Error("no such place")
  return { ...value, [key]: changedAt(value[String(key)], rest, change) }
}

/** One of the lines changed in one place. */
const planted = (at: Path, change: (value: Json | undefined) => Json): string => {
  const [line, ...rest] = at
  return everything
    .map((object, i) => JSON.stringify(i === line ? changedAt(object, rest, change) : object) + "\n")
    .join("")
}

describe("a secret", () => {
  const { objects, strings } = places([...everything])

  it("is in no string of any line", () => {
    assert.isAbove(strings.length, 150)
    for (const at of strings) {
      // Without it nothing is a session.
      if (at.join(".") === "0.type") continue
      for (const around of [(secret: string) => secret, (secret: string) => `a "${secret}"\n`]) {
        const content = planted(at, () => around(token))
        assert.notInclude(written(content), token, at.join("."))
      }
    }
  })

  it("is in no key, and no member is lost", () => {
    const standIn = placeholders.secret("github-pat", token)
    for (const at of objects) {
      const content = planted(at, (value) => ({
        ...(isObject(value) ? value : {}),
        [standIn]: 0,
        [token]: 1,
        [`${token} `]: [token]
      }))
      const made = written(content)
      assert.notInclude(made, token, at.join("."))
      const [line = 0, ...rest] = at
      let found: Json | undefined = JSON.parse(made.split("\n")[Number(line)] ?? "")
      let before: Json | undefined = JSON.parse(content.split("\n")[Number(line)] ?? "")
      for (const key of rest) {
        found = isArray(found) ? found[Number(key)] : isObject(found) ? found[String(key)] : undefined
        before = isArray(before) ? before[Number(key)] : isObject(before) ? before[String(key)] : undefined
      }
      const isHeader = at.length === 1 && line === 0 ? 1 : 0
      const signatures = Object.keys(isObject(before) ? before : {}).filter((key) => key.endsWith("Signature")).length
      const expected = Object.keys(isObject(before) ? before : {}).length + isHeader - signatures
      assert.strictEqual(Object.keys(isObject(found) ? found : {}).length, expected, at.join("."))
    }
  })

  it("of any kind is removed, and so is one that the user names", () => {
    const random = SeededRandom.make(11)
    for (const [kind, make] of KINDS) {
      const { secret, text: holds } = make(random)
      for (const at of [
        [4, "message", "content", 0, "text"],
        [9, "data", "list", 1, 0],
        [6, "message", "details", "diff"]
      ]) {
        const made = written(planted(at, () => `before ${holds} after`))
        assert.notInclude(made, JSON.stringify(secret).slice(1, -1), kind)
      }
    }
    const word = ["correct", "horse", "battery"].join("-")
    const exact = new Redactor({ placeholders, exact: ExactSecrets.fromValues([word]).secrets })
    for (const at of strings) {
      if (at.join(".") !== "0.type")
        assert.notInclude(
          written(
            planted(at, () => `x${word}x`),
            exact
          ),
          word,
          at.join(".")
        )
    }
  })

  it("is removed when its key or a sibling names it", () => {
    const secret = "kX9-vb2QpLw7"
    const lines = (data: JsonObject) => file(header(), ...linked([{ type: "custom", customType: "c", data }]))
    for (const data of [
      { password: secret },
      { value: secret, name: "DB_PASSWORD" },
      { name: "DB_PASSWORD", value: secret },
      { key: "db_password", value: secret }
    ]) {
      assert.notInclude(written(lines(data)), secret)
    }
    assert.include(written(lines({ name: "colour", value: secret })), secret)
  })

  it("is not searched in images, but in text that claims to be an image", () => {
    const inImage = (data: string) =>
      file(header(), ...linked([user([{ type: "image", mimeType: "image/png", data }])]))
    // An image whose bytes, as text, hold what looks like a key.
    const key = ["AKIA", "QYLPMN5HHHFPZAM2"].join("")
    const data = `${PNG.slice(0, 48)}/${key}${PNG.slice(48)}`
    assert.include(written(inImage(data)), data)
    assert.notInclude(written(inImage(key)), key)
    assert.notInclude(written(inImage(`${PNG.slice(0, 48)} ${key}`)), key)
  })
})

describe("a redacted session", () => {
  it("keeps lines without secrets unchanged, and is marked in its header", () => {
    const odd = `{ "type":"custom" ,"id":"x1","parentId":null,"n":[1.0,1e400,12345678901234567890,-0],"a":1,"a":2,"u":"\\u00e9\\/","__proto__":{} }\r`
    const secret = odd.replace(`"u":"`, `"u":"${token} `)
    const lines = file(header()).trimEnd()
    const made = written(`${lines}\n${odd}\n\n${secret}\n`).split("\n")
    assert.strictEqual(made[0], lines.replace(/\}$/u, `${MARK}}`))
    assert.strictEqual(made[1], odd)
    assert.strictEqual(made[2], "")
    const standIn = placeholders.secret("github-pat", token)
    assert.strictEqual(made[3], odd.replace(`"u":"\\u00e9\\/"`, `"u":"${standIn} é/"`))
    assert.strictEqual(made.length, 5)
    // Twice is once.
    assert.strictEqual(written(made.join("\n")), made.join("\n"))
  })

  it("keeps everything that needs no redaction", () => {
    for (const name of fixtures) {
      const bytes = bytesOf(name)
      const session = Session.read(bytes)
      if (session.header === undefined || name.includes("header-not-first")) continue
      const made = PiFormat.project(session, redactor)
      const lines = (text: string) => text.split("\n").filter((line) => asJson(line) !== undefined)
      const before = lines(bytes.toString("latin1").replace("\u00ef\u00bb\u00bf", ""))
      const after = lines(Buffer.from(made.bytes).toString("latin1"))
      assert.strictEqual(after.length, before.length, name)
      for (const [at, line] of before.entries()) {
        if (after[at] === line || /Signature/u.test(line)) continue
        assert.include(after[at], at === 0 || line.includes('"type":"session"') ? MARK : "user-", `${name}:${at + 1}`)
      }
    }
  })

  it("drops damaged lines, and counts them", () => {
    const good = file(header(), ...linked([user("a"), user("b")]))
    const torn = `{"type":"message","id":"t1","message":{"role":"user","content":"${token}`
    const glued = file(...linked([user(`c ${token}`)])).replace("\n", "")
    const made = PiFormat.project(read(`${good}${torn}\n${torn}${glued}\n${torn}`), redactor)
    assert.deepStrictEqual(made.dropped, { damaged_line: 3 })
    assert.strictEqual(Buffer.from(made.bytes).toString(), good.replace("}\n", `${MARK}}\n`))
    // Whole entries on one line stay on one line.
    const both = PiFormat.project(read(`${good}${glued}${glued}\n`), redactor)
    assert.deepStrictEqual(both.dropped, {})
    assert.strictEqual(Buffer.from(both.bytes).toString().split("\n").length, good.split("\n").length + 1)
    assert.notInclude(Buffer.from(both.bytes).toString(), token)
  })

  it("stays valid when the user is named like a keyword of Pi", () => {
    const words = [
      "session",
      "message",
      "assistant",
      "toolResult",
      "content",
      "thinking",
      "toolCall",
      "arguments",
      "timestamp"
    ]
    for (const name of words) {
      const lines = everything.map((line, at) => (at === 0 ? { ...line, cwd: `/home/${name}/x` } : line))
      const made = written(file(...lines))
        .trimEnd()
        .split("\n")
      const shape = (line: JsonObject): Json => {
        const { objects } = places(line)
        return [line["type"] ?? null, line["id"] ?? null, objects.map((at) => at.join("."))]
      }
      for (const [at, line] of lines.entries()) {
        const after: JsonObject = JSON.parse(made[at] ?? "")
        if (at > 0) assert.deepStrictEqual(shape(after), shape(line), `${name}:${at + 1}`)
      }
      assert.notInclude(made[0], `/home/${name}`)
    }
  })

  it("has one placeholder for one person in all its paths", () => {
    const home = "/home/annabelle/work"
    const content = file(
      header({ cwd: home, parentSession: `/home/annabelle/.pi/agent/sessions/--home-annabelle-work--/a.jsonl` }),
      ...linked([user(`annabelle@corsair:~$ ls ${home}`), assistant([call("c", "read", { path: `${home}/a` })])])
    )
    const made = written(content)
    const name = placeholders.user("annabelle")
    assert.notInclude(made, "annabelle")
    assert.notInclude(made, "corsair")
    assert.strictEqual(made.split(name).length - 1, 6)
    const elsewhere = PiFormat.project(
      read(file(header(), ...linked([user("ask annabelle")]))),
      redactor,
      "/home/annabelle/s.jsonl"
    )
    assert.include(Buffer.from(elsewhere.bytes).toString(), `ask ${name}`)
  })

  it("has a file name like those of Pi, without names of people", () => {
    const nameOf = (more: JsonObject) => PiFormat.project(read(file(header(more))), redactor).fileName
    const id = "0197a0de-3c5e-7a63-9f3a-0c6f5b3d2e11"
    assert.strictEqual(nameOf({ id }), `2026-01-05T10-00-00-000Z_${id}.jsonl`)
    assert.strictEqual(nameOf({ id, cwd: "/home/annabelle" }), nameOf({ id }))
    const own = nameOf({ id: "annabelle-1", cwd: "/home/annabelle" })
    assert.strictEqual(own, `2026-01-05T10-00-00-000Z_${placeholders.user("annabelle")}-1.jsonl`)
    const odd = [{ id: "../../etc/passwd" }, { id: "../../etc-passwd" }, { id: "a".repeat(500) }, { id: "\u0000/\\" }]
    const times = [undefined, null, 1_780_000_000_000, "", ".", "_", "../..", "\u0000", { toString: 1 }]
    const timed = times.flatMap((timestamp) => [{ timestamp }, { timestamp, id: "__proto__" }, { timestamp, id: ".x" }])
    const named = new Set([...odd, { id: token }, { timestamp: "." }].map(nameOf))
    const names = [...named, ...timed.map(nameOf)]
    for (const name of names) {
      assert.match(name, /^[\w-][\w.-]{1,180}\.jsonl$/u)
      assert.isTrue(LooseFile.isName(`train/${name}`), `merge takes ${name}`)
    }
    assert.strictEqual(named.size, odd.length + 2)
    assert.notInclude(names.join("\n"), token)
  })
})

describe("a session that is not redacted", () => {
  it("keeps its bytes but for signatures, damaged or not", () => {
    for (const name of fixtures) checkPlain(bytesOf(name), name)
    checkPlain(Buffer.from(file(...everything)), "everything")
    const block = (members: string) => `{"type":"session","id":"a"}\n{"type":"x","id":"b","content":[{${members}}]}`
    for (const members of [
      `"type":"thinking","thinkingSignature":"s"`,
      `"thinkingSignature":"s","type":"thinking"`,
      `"thinkingSignature":"s","thinkingSignature":"t","type":"thinking","n":1`,
      `"type":"text" , "textSignature" : "s\\"" , "text":"a"`,
      `"type":"toolCall","n":{"type":"text","textSignature":"s"},"thoughtSignature":"s","thoughtSignature":"t"`,
      `"type":"text","thinkingSignature":"s","thoughtSignature":"s"`,
      `"type":"thinking","thinking\\u0053ignature":"s"`,
      `"type":"thinking","thinkingSignature":null`
    ]) {
      const made = Buffer.from(PiFormat.project(read(block(members)), undefined).bytes).toString()
      const before: JsonObject = JSON.parse(block(members).split("\n")[1] ?? "")
      assert.deepStrictEqual(JSON.parse(made.split("\n")[1] ?? ""), unsigned(before), members)
    }
  })
})

describe("validate", () => {
  const issueOf = (content: string): string =>
    Result.match(PiFormat.validate(Buffer.from(content)), {
      onFailure: ({ message }) => message,
      onSuccess: () => "accepted"
    })

  it("accepts files that Pi opens, and reports what is wrong with others", () => {
    const marked = file(header({ redacted: { by: "pi-sessions" } }))
    const entry = file(...linked([user("a")]))
    assert.strictEqual(issueOf(marked + entry), "accepted")
    assert.strictEqual(issueOf(file(header()) + "{\n" + entry), "accepted", "damage of what is not redacted")
    assert.strictEqual(issueOf(""), "not a session of pi: line 1: there is no header")
    assert.strictEqual(issueOf(entry), "not a session of pi: line 1: there is no header")
    assert.strictEqual(issueOf(entry + marked), "not a session of pi: line 2: the header is not the first line")
    assert.strictEqual(issueOf("\ufeff" + marked), "not a session of pi: line 1: a byte order mark")
    assert.strictEqual(issueOf(marked + "{\n"), "not a session of pi: line 2: a damaged line, which cannot be redacted")
    const signed = file(...linked([assistant([{ type: "thinking", thinking: "a", thinkingSignature: "b" }])]))
    assert.strictEqual(issueOf(marked + signed), "not a session of pi: line 2: a signature")
  })
})
