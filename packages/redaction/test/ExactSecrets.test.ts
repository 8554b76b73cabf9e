/** Known secrets: which values are used, and that they are found in every encoded form. */
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as ExactSecrets from "../src/ExactSecrets.ts"
import { Placeholders } from "../src/Placeholders.ts"
import { Redactor } from "../src/Redactor.ts"
import { characters } from "./support/plantedSecrets.ts"

const scopeOf = (secrets: ExactSecrets.ExactSecrets) =>
  new Redactor({ placeholders: new Placeholders("a key of this test"), exact: secrets.secrets }).scope([])

const values = ({ secrets }: ExactSecrets.ExactSecrets): ReadonlyArray<string> => secrets.map(({ value }) => value)

/** Values that no rule matches. */
const valueOf = (seed: number): string => {
  const random = SeededRandom.make(seed)
  const signs = random.pick(["", "&/+", "\"'", "\\", "<%>", " ", "é€", "\u{1F600}", "$()", "#?=@"])
  return `${characters(random, "qwertzuiop", 5 + random.int(5))}${signs}${characters(random, "QWERTZ", 4)}`
}

const FORMS: { readonly [form: string]: (value: string) => string } = {
  verbatim: (value) => value,
  "in JSON": (value) => JSON.stringify({ a: value }),
  "in JSON in JSON": (value) => JSON.stringify(JSON.stringify({ a: `x\n${value}` })),
  "in a URL": (value) => `https://acme.dev/?q=${encodeURIComponent(value)}&x`,
  "in a form": (value) => `q=${encodeURIComponent(value).replaceAll("%20", "+")}`,
  "in a URL with lower-case escapes": (value) =>
    encodeURIComponent(value).replaceAll(/%[\dA-F]{2}/gu, (escape) => escape.toLowerCase()),
  "in HTML": (value) =>
    value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  "in a shell's quotes": (value) => `'${value.replaceAll("'", "'\\''")}'`,
  "in base64": (value) => Buffer.from(value).toString("base64"),
  "in base64 after one byte": (value) => Buffer.from(`:${value}!`).toString("base64"),
  "in base64 after two bytes": (value) => Buffer.from(`u:${value}\n`).toString("base64url"),
  "in Basic": (value) => `Authorization: Basic ${Buffer.from(`svc:${value}`).toString("base64")}`
}

describe("a known value", () => {
  for (const [form, put] of Object.entries(FORMS)) {
    it(`is found ${form}`, () => {
      for (let seed = 1; seed <= 60; seed++) {
        const value = valueOf(seed)
        const text = `before\n${put(value)}\nafter ${value}`
        const scope = scopeOf(ExactSecrets.fromValues([value]))
        const after = scope.text(text)
        assert.notInclude(after, value)
        assert.isFalse(
          decodings(after).some((decoded) => decoded.includes(value)),
          `${form}, seed ${seed}`
        )
        assert.isTrue(after.startsWith("before\n") && after.includes("\nafter [REDACTED:exact-value:"))
        assert.strictEqual(scopeOf(ExactSecrets.fromValues([value])).text(after), after)
        assert.notInclude(JSON.stringify(scope.counts), value)
      }
    })
  }

  it("with several lines is found line by line", () => {
    const random = SeededRandom.make(1)
    const lines = Array.from({ length: 4 }, () => characters(random, "qwertzuiopasdfgh", 40))
    const after = scopeOf(ExactSecrets.fromValues([lines.join("\n")])).text(`  ${lines.join("\n  ")}\n`)
    for (const line of lines) assert.notInclude(after, line)
  })

  it("has precedence over rules", () => {
    const value = `ghp_${characters(SeededRandom.make(2), "abcdefABCDEF0123456789", 36)}`
    assert.match(scopeOf(ExactSecrets.fromValues([value])).text(value), /^\[REDACTED:exact-value:\d+\]$/u)
  })
})

/** The decoded base64 and percent escapes of a text. */
const decodings = (text: string): ReadonlyArray<string> => [
  ...[...text.matchAll(/[\w+/-]{8,}/gu)].map(([piece]) => Buffer.from(piece, "base64").toString()),
  ...[...text.matchAll(/\S+/gu)].flatMap(([word]) => {
    try {
      return [decodeURIComponent(word)]
    } catch {
      return []
    }
  })
]

describe("fromEnvironment", () => {
  it("returns the values of variables with names of secrets", () => {
    const found = ExactSecrets.fromEnvironment({
      ACME_API_KEY: "value-of-key-1",
      GITHUB_TOKEN: "value-of-token-2",
      DB_PASSWORD: "value-of-password-3",
      STRIPE_SECRET_2: "value-of-secret-4",
      DATABASE_URL: "postgres://svc:value5@db/app",
      HOME: "/home/ann-with-a-long-name",
      PWD: "/home/ann/project",
      SSH_AUTH_SOCK: "/tmp/agent.sock.123",
      MONKEY: "value-of-no-key",
      PUBLIC_KEY_PATH: "value-of-path-9",
      EMPTY_TOKEN: "",
      UNSET_TOKEN: undefined
    })
    assert.deepStrictEqual(values(found), [
      "value-of-key-1",
      "value-of-token-2",
      "value-of-password-3",
      "value-of-secret-4",
      "postgres://svc:value5@db/app"
    ])
    assert.deepStrictEqual(found.refused, [])
  })

  it("refuses short and common values, and reports names but no values", () => {
    const found = ExactSecrets.fromEnvironment({
      A_TOKEN: "short",
      B_TOKEN: "undefined",
      C_KEY: "/etc/ssl/private/key.pem",
      D_KEY: "123456789012",
      E_SECRET: "<your-secret-here>",
      F_TOKEN: "https://acme.dev/token",
      G_PASSWORD: "password"
    })
    assert.deepStrictEqual(values(found), [])
    assert.deepStrictEqual(found.refused, [
      { name: "A_TOKEN", reason: "too_short" },
      ...["B_TOKEN", "C_KEY", "D_KEY", "E_SECRET", "F_TOKEN", "G_PASSWORD"].map((name) => ({
        name,
        reason: "common" as const
      }))
    ])
  })
})

describe("fromEnvironment, values with a placeholder word", () => {
  const refusedOf = (value: string): ReadonlyArray<string> =>
    ExactSecrets.fromEnvironment({ A_PASSWORD: value }).refused.map(({ reason }) => reason)

  for (const value of [
    "MySampleDb-9x!kd",
    "snowflake...7Q!",
    "tr0ub4dor-fakery",
    "pw-12345678-Zk3Q",
    "xxxxHarbour!9",
    "<x9!kd-Lantern",
    "[x9!kd-Lantern",
    "Quokka<3Zephyr",
    "$ecret-Harbour",
    "secret:Harbour",
    "Redacted-Heron-77",
    `AAAAAAAAAA${"zK3qM9"}`,
    "https://svc:Lantern77!@acme.dev/x"
  ]) {
    it(`uses ${value}`, () => {
      assert.deepStrictEqual(refusedOf(value), [])
    })
  }

  for (const value of [
    "your-api-key-here",
    "change_me",
    "CHANGE-THIS",
    "fake-token",
    "test_password",
    "xxxx-xxxx-xxxx",
    "not-a-real-key",
    "1234567890abcdef",
    "<your-secret>",
    "${OTHER_TOKEN}",
    "$OTHER_TOKEN",
    "%OTHER_TOKEN%",
    "{{ token }}",
    "process.env.TOKEN",
    "op://vault/item/field",
    "....................",
    "00000000-0000-0000-0000-000000000001"
  ]) {
    it(`refuses ${value}, which is only a placeholder`, () => {
      assert.deepStrictEqual(refusedOf(value), ["common"])
    })
  }
})

describe("fromFile", () => {
  it("returns the values of variables with names of secrets", () => {
    const text = [
      "# comment",
      "PORT=80",
      "A_TOKEN=plain-value-1 # why",
      'export B_KEY="quoted \\"value\\" 2"',
      "C_SECRET='single value 3'",
      'D_PRIVATE_KEY="-----\nline value 4\n-----"',
      "NAME=none-of-these"
    ].join("\n")
    assert.deepStrictEqual(values(ExactSecrets.fromFile(".env", text)), [
      "plain-value-1",
      'quoted "value" 2',
      "single value 3",
      "-----\nline value 4\n-----"
    ])
  })

  it("returns the strings of JSON under keys such as key and token", () => {
    const text = JSON.stringify({
      acme: { type: "api_key", key: "value-of-key-1" },
      other: { type: "oauth", access: "value-of-access-2", refresh: "value-of-refresh-3", expires: 1 },
      list: [{ clientSecret: "value-of-secret-4", id: "value-of-nothing" }]
    })
    assert.deepStrictEqual(values(ExactSecrets.fromFile("auth.json", text)), [
      "value-of-key-1",
      "value-of-access-2",
      "value-of-refresh-3",
      "value-of-secret-4"
    ])
  })

  it("returns the lines of other files", () => {
    const found = ExactSecrets.fromFile("names.txt", "Project Heron\r\n\r\nblue lagoon 7\nok\n")
    assert.deepStrictEqual(values(found), ["Project Heron", "blue lagoon 7"])
    assert.deepStrictEqual(found.refused, [{ name: "names.txt:4", reason: "too_short" }])
  })
})

describe("fromValues and all", () => {
  it("use given values from four characters on", () => {
    const found = ExactSecrets.fromValues(["abc", "true", "heron"])
    assert.deepStrictEqual(values(found), ["true", "heron"])
    assert.deepStrictEqual(found.refused, [{ name: "value 1", reason: "too_short" }])
  })

  it("return a value of several sources once", () => {
    const both = ExactSecrets.all([
      ExactSecrets.fromValues(["value-of-key-1"]),
      ExactSecrets.fromEnvironment({ A_KEY: "value-of-key-1" })
    ])
    assert.deepStrictEqual(values(both), ["value-of-key-1"])
  })
})
