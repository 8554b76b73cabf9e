/** Redaction of texts and JSON: names of people, values that are no secrets, placeholders. */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Placeholders } from "../src/Placeholders.ts"
import { Redactor } from "../src/Redactor.ts"
import { KINDS, PLACES, characters } from "./support/plantedSecrets.ts"

const placeholders = new Placeholders("a key of this test")
const redactor = new Redactor({ placeholders })
const redacted = (text: string, ...paths: ReadonlyArray<string>): string => redactor.scope(paths).text(text)

describe("objects", () => {
  it("lose members with secret keys", () => {
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

  it("keep both of two members whose keys become equal", () => {
    const user = placeholders.user("ann")
    const after = redactor.scope([]).object({ [`/home/${user}/x`]: 1, "/home/ann/x": 2 })
    assert.deepStrictEqual(Object.values(after), [1, 2])
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
    it(`are replaced in ${before}`, () => {
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
    it(`are not found in ${text}`, () => {
      assert.strictEqual(redacted(text), text)
    })
  }

  it("that are common words are replaced only where they are accounts", () => {
    const text = "mason@laptop:~$ ls -l\n-rw-r--r-- 1 mason mason 12 x\nUSER=mason a mason jar ~mason/x"
    const after = redacted(text, "/home/mason/x")
    assert.match(after, /^(user-\d{6})@laptop:~\$ ls -l\n-rw-r--r-- 1 \1 \1 12 x\nUSER=\1 a mason jar ~\1\/x$/u)
  })

  it("of hosts come from shell prompts", () => {
    const scope = redactor.scope(["/home/mason"], ["ok\nmason@thinkpad7:~$ ls", "mason@acme.dev"])
    assert.match(scope.text("mason@thinkpad7:~$ ping thinkpad7 acme"), /^user-\d{6}@(host-\d{6}):~\$ ping \1 acme$/u)
  })

  it("given by the caller are replaced too", () => {
    const own = new Redactor({ placeholders, names: { users: ["brigitte"], hosts: ["thinkpad7"] } })
    assert.match(own.scope([]).text("brigitte on thinkpad7"), /^user-\d{6} on host-\d{6}$/u)
  })
})

const TEXTS = Dose.of("PI_SESSIONS_TEXTS", { test: 2000, campaign: 50_000 })

const hex = (seed: number, length: number): string => characters(SeededRandom.make(seed), "0123456789abcdef", length)
const uuid = "0197a0de-3c5e-7a63-9f3a-0c6f5b3d2e11"

/** Joins parts, so that no scanner reports this file. */
const joined = (...parts: ReadonlyArray<string>): string => parts.join("")

describe("text without secrets", () => {
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
    it(`does not change: ${JSON.stringify(text).slice(0, 70)}`, () => {
      assert.strictEqual(redacted(text), text)
    })
  }
})

describe("placeholders", () => {
  it("are equal for equal secrets, in any order and worker", () => {
    const first = KINDS.get("github-pat")?.(SeededRandom.make(1)).text ?? ""
    const second = KINDS.get("github-pat")?.(SeededRandom.make(2)).text ?? ""
    const other = new Redactor({ placeholders: new Placeholders("a key of this test") })
    const [a, b] = redacted(`${first} ${second}`).split(" ")
    assert.strictEqual(other.scope([]).text(`${second} ${first}`), `${b} ${a}`)
    assert.notStrictEqual(a, b)
    assert.match(a ?? "", /^\[REDACTED:github-pat:\d{1,9}\]$/u)
    const foreign = new Redactor({ placeholders: new Placeholders("another key") })
    assert.notStrictEqual(foreign.scope([]).text(first), a)
  })

  it("have the rule of the form rather than that of the context", () => {
    const { text } = KINDS.get("github-pat")?.(SeededRandom.make(1)) ?? { text: "" }
    assert.match(redacted(`password=${text}`), /^password=\[REDACTED:github-pat:\d+\]$/u)
    assert.match(redacted(`{"token": "${text}"}`), /^\{"token": "\[REDACTED:github-pat:\d+\]"\}$/u)
  })

  it("replace a token in a URL once, and keep the URL", () => {
    const { text } = KINDS.get("github-pat")?.(SeededRandom.make(1)) ?? { text: "" }
    const scope = redactor.scope([])
    const after = scope.text(`https://${text}@github.com/acme/x.git`)
    assert.match(after, /^https:\/\/\[REDACTED:github-pat:\d+\]@github\.com\/acme\/x\.git$/u)
    assert.deepStrictEqual(scope.counts, { "github-pat": 1 })
    assert.strictEqual(redacted(after), after)
  })

  it("do not hide the password after them in a URL", () => {
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

  it("keep JSON in a text valid", () => {
    for (const [kind, make] of KINDS) {
      for (const place of ["in JSON", "in JSON in JSON"]) {
        for (let seed = 1; seed <= 5; seed++) {
          const after = redacted(PLACES[place]?.(make(SeededRandom.make(seed)).text) ?? "")
          assert.doesNotThrow(() => JSON.parse(after), `${kind} ${place}: ${after}`)
        }
      }
    }
  })

  it("do not change when redacted again", () => {
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
    for (let seed = 1; seed <= TEXTS; seed++) {
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
    assert.isAtLeast(findings, TEXTS / 2)
  })
})
