/** The scanner accepts what `JSON.parse` accepts, and finds the members of the envelope. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as Util from "node:util"
import { isObject, type Json } from "../src/Json.ts"
import { JsonScanner, LONG_BYTES } from "../src/internal/jsonScanner.ts"
import * as settings from "./support/settings.ts"

type Random = SeededRandom.SeededRandom

const strings = [
  "",
  "a",
  "user",
  "session",
  "type",
  '\\"',
  "\\\\",
  "\\/",
  "\\b\\f\\n\\r\\t",
  "\\u0041",
  "\\uD83D",
  "\\ud83d\\ude00",
  "\\u2028",
  "é",
  "日本語",
  "😀",
  "\u2028",
  "\u007f",
  "\ufeff",
  "{",
  "}",
  "[",
  ",",
  ":",
  "true"
] as const

/** Characters that end a string or are invalid in one. */
const broken = ["\\x", "\\u00g0", "\\u12", "\u0007", "\n", "\\"] as const
/** Escapes that `JSON.stringify` writes, and others of the same characters. */
const escapes = ["\\u001b", "\\u0000", "\\u000b", "\\u001B", "\\u0008", "\\u000A", "\\u007f", "\\ud83d", "\\/"] as const

/** A string of up to 300 KB, mostly valid and mostly written as by `JSON.stringify`. */
const longString = (random: Random): string => {
  const plain = [
    "a",
    "line after line ",
    '\\"',
    "\\\\",
    "\\n",
    "\\t",
    "é",
    "日本語",
    "😀",
    "\u2028",
    "\u007f",
    "x".repeat(40)
  ]
  const length = random.chance(0.02) ? 20_000 + random.int(40_000) : random.int(120)
  const oddEvery = random.chance(0.5) ? 0 : 1 / (1 + length)
  const text = Array.from({ length }, () => {
    if (random.chance(oddEvery)) return random.pick(random.chance(0.8) ? escapes : broken)
    return random.pick(["\\u001b", ...plain])
  })
  return `"${text.join("")}"`
}

const numbers = [
  "0",
  "-0",
  "7",
  "-12",
  "10.5",
  "0.0",
  "-0.001",
  "1e5",
  "1E+5",
  "2.5e-7",
  "0e0",
  "123456789012345678901234567890",
  "1e400"
] as const

const envelopeKeys = [
  "type",
  "id",
  "parentId",
  "timestamp",
  "message",
  "role",
  "\\u0074ype",
  "\\u0069d",
  "parent\\u0049d",
  "mess\\u0061ge",
  "rol\\u0065",
  "times\\u0074amp"
] as const

const space = (random: Random): string =>
  random.chance(0.3) ? random.pick([" ", "\t", "\r", "\n", "  ", " \r\n\t"] as const) : ""

const string = (random: Random): string =>
  `"${Array.from({ length: random.int(4) }, () => random.pick(strings)).join("")}"`

const key = (random: Random): string => {
  if (random.chance(0.7)) return `"${random.pick(envelopeKeys)}"`
  return random.chance(0.1) ? '"__proto__"' : string(random)
}

const member = (random: Random, depth: number): string => {
  const colon = `${space(random)}:${space(random)}`
  if (depth > 0 || random.chance(0.7)) return `${key(random)}${colon}${value(random, depth + 1)}`
  const role = () => `${random.pick(['"role"', '"rol\\u0065"', '"x"'] as const)}${colon}${value(random, 2)}`
  return `"message"${colon}${random.chance(0.8) ? list(random, "{", "}", role) : value(random, 1)}`
}

const value = (random: Random, depth: number): string => {
  const kind = depth === 0 ? 0 : random.int(depth > 5 ? 3 : 6)
  switch (kind) {
    case 1:
      return random.pick(numbers)
    case 2:
      return random.pick(["true", "false", "null"] as const)
    case 3:
      return list(random, "[", "]", () => value(random, depth + 1))
    case 4:
    case 5:
      return object(random, depth)
    default:
      return depth === 0 ? (random.chance(0.9) ? object(random, depth) : value(random, 1)) : string(random)
  }
}

const object = (random: Random, depth: number): string => list(random, "{", "}", () => member(random, depth))

const list = (random: Random, open: string, close: string, element: () => string): string => {
  const elements = Array.from({ length: random.int(5) }, () => `${space(random)}${element()}${space(random)}`)
  return elements.length === 0 ? `${open}${space(random)}${close}` : `${open}${elements.join(",")}${close}`
}

const document = (random: Random): Buffer => Buffer.from(`${space(random)}${value(random, 0)}${space(random)}`, "utf8")

const tokens = ['"', "\\", "{", "}", "[", "]", ":", ",", "0", "-", ".", "e", "+", "u", " ", "\n", "t", "n", "\u0000"]
const oddBytes = [...tokens.map((token) => token.charCodeAt(0)), 0x7f, 0x80, 0xc3, 0xa0, 0xe2, 0xef, 0xbb, 0xbf, 0xff]

const mutate = (random: Random, bytes: Buffer): Buffer => {
  let result = bytes
  for (let times = 1 + random.int(3); times > 0; times--) {
    const at = random.int(result.length + 1)
    const to = Math.min(result.length, at + 1 + random.int(4))
    const odd = Buffer.from([oddBytes[random.int(oddBytes.length)] ?? 0])
    const parts = random.pick([
      [result.subarray(0, at), odd, result.subarray(at)],
      [result.subarray(0, at), odd, result.subarray(to)],
      [result.subarray(0, at), result.subarray(to)],
      [result.subarray(0, at), result.subarray(at, to), result.subarray(at)],
      [result.subarray(0, at)],
      [result.subarray(0, at), document(random), result.subarray(at)]
    ] as const)
    result = Buffer.concat(parts)
  }
  return result
}

const parse = (bytes: Buffer): { readonly value: Json } | undefined => {
  try {
    return { value: JSON.parse(bytes.toString("utf8")) }
  } catch {
    return undefined
  }
}

const noise = (random: Random): Buffer => Buffer.from([oddBytes[random.int(oddBytes.length)] ?? 0, random.int(256)])

/** Scans a document between other bytes, and compares the result with that of `JSON.parse`. */
const compare = (scanner: JsonScanner, random: Random, bytes: Buffer, name: () => string): boolean => {
  const same = (ours: unknown, theirs: unknown, what: string): void => {
    if (!Util.isDeepStrictEqual(ours, theirs)) assert.deepStrictEqual(ours, theirs, `${name()}: ${what}`)
  }
  const before = noise(random)
  const buffer = Buffer.concat([before, bytes, Buffer.from("\n"), noise(random)])
  const start = before.length
  const end = start + bytes.length
  const stop = scanner.scan(buffer, start, end)
  same(stop <= end, true, "stops before the end")
  same(scanner.scannedTo >= start && scanner.scannedTo <= end, true, "scanned no further than the end")
  const rest = stop < 0 ? "" : buffer.toString("latin1", stop, end)
  const accepted = stop >= 0 && /^[ \t\r\n]*$/.test(rest)
  const parsed = parse(bytes)
  same(accepted, parsed !== undefined, "accepted")
  if (stop >= 0 && !accepted) same(parse(buffer.subarray(start, stop)) !== undefined, true, "its start is JSON")
  if (parsed === undefined) return false

  const object = isObject(parsed.value) ? parsed.value : {}
  for (const member of ["type", "id", "parentId", "timestamp"] as const) {
    const range = scanner[member]
    const there = Object.hasOwn(object, member)
    same(range.start >= 0, there, `has ${member}`)
    if (!there) continue
    same(parse(buffer.subarray(range.start, range.end)), { value: object[member] ?? null }, member)
  }
  const message = Object.hasOwn(object, "message") ? object["message"] : undefined
  const role = isObject(message) && Object.hasOwn(message, "role") ? message["role"] : undefined
  const scannedRole =
    scanner.role.start < 0 ? undefined : parse(buffer.subarray(scanner.role.start, scanner.role.end))?.value
  same(scannedRole, typeof role === "string" ? role : undefined, "message.role")
  return true
}

const scanText = (text: string): { readonly stop: number; readonly scanner: JsonScanner } => {
  const bytes = Buffer.from(`${text}\n`)
  const scanner = new JsonScanner()
  return { stop: scanner.scan(bytes, 0, bytes.length - 1), scanner }
}

describe("JsonScanner", () => {
  it("agrees with JSON.parse on generated documents and their mutations", () => {
    const count = settings.fuzz(2000)
    const scanner = new JsonScanner()
    let valid = 0
    let mutants = 0
    for (const seed of settings.seeds(count)) {
      const random = SeededRandom.make(seed)
      const bytes = document(random)
      const show = (bytes: Buffer): string => JSON.stringify(bytes.toString("latin1"))
      const isDocument = compare(scanner, random, bytes, () => `seed ${seed}: ${show(bytes)}`)
      if (!isDocument) assert.fail(`seed ${seed}: ${show(bytes)} is no JSON`)
      for (let mutant = 0; mutant < 4; mutant++) {
        const mutated = mutate(random, bytes)
        mutants++
        if (compare(scanner, random, mutated, () => `seed ${seed}, mutant ${mutant}: ${show(mutated)}`)) valid++
      }
    }
    assert.strictEqual(mutants, 4 * count)
    if (settings.isMany(count)) assert.isAbove(valid, 0)
    settings.note(`JsonScanner: ${count} documents, ${mutants} mutants of which ${valid} are JSON`)
  })

  it("skips long strings as JSON.parse does, and finds those that JSON.stringify writes with the same bytes", () => {
    const count = settings.fuzz(1000)
    const scanner = new JsonScanner()
    let foundAll = 0
    let refused = 0
    for (const seed of settings.seeds(count)) {
      const random = SeededRandom.make(seed)
      const texts = Array.from({ length: 1 + random.int(4) }, () => longString(random))
      const keyed = random.chance(0.5)
      const pieces = texts.map((text) => (keyed ? `${longString(random)}:${text}` : text))
      const bytes = Buffer.from(keyed ? `{${pieces.join(",")}}` : `[${pieces.join(",")}]`)
      const isJson = compare(scanner, random, bytes, () => `seed ${seed}`)
      if (!isJson) refused++
      const buffer = Buffer.concat([bytes, Buffer.from("\n")])
      if (scanner.scan(buffer, 0, bytes.length) !== bytes.length) continue
      const found: Array<string> = []
      const { longStrings } = scanner
      for (let at = 0; at < longStrings.length; at += 2) {
        found.push(buffer.toString("utf8", longStrings[at], longStrings[at + 1]))
      }
      const expected = texts
        .filter(
          (text) =>
            Buffer.byteLength(text) >= LONG_BYTES + 2 && JSON.stringify(JSON.parse(text).toWellFormed()) === text
        )
        .map((text) => text.slice(1, -1))
      assert.deepStrictEqual(found, expected, `seed ${seed}`)
      foundAll += found.length
    }
    if (settings.isMany(count)) {
      assert.isAbove(foundAll, count / 4)
      assert.isAbove(refused, count / 50)
    }
  })

  it("agrees with JSON.parse on every short text of the bytes that matter", () => {
    const scanner = new JsonScanner()
    const random = SeededRandom.make(1)
    const alphabet = ['"', "\\", "{", "}", "[", "]", ":", ",", "0", "1", "-", ".", "e", " ", "a"]
    let count = 0
    const extend = (prefix: string, left: number): void => {
      compare(scanner, random, Buffer.from(prefix), () => JSON.stringify(prefix))
      count++
      if (left > 0) for (const char of alphabet) extend(prefix + char, left - 1)
    }
    extend("", 4)
    assert.strictEqual(count, 1 + 15 + 15 ** 2 + 15 ** 3 + 15 ** 4)
  })

  it("agrees with JSON.parse on every byte in every kind of place", () => {
    const scanner = new JsonScanner()
    const random = SeededRandom.make(1)
    const places = [
      "",
      '"',
      '"\\',
      '"\\u00',
      '"\\u004',
      "[",
      "[1",
      '{"a"',
      '{"a":',
      '{"a":1',
      "-",
      "1",
      "1.",
      "1e",
      "tru"
    ]
    const ends = ["", '"', '1"', "]", "1]", "}", ":1}", "1}", "1", "e"]
    let count = 0
    for (let byte = 0; byte < 256; byte++) {
      for (const before of places) {
        for (const after of ends) {
          const bytes = Buffer.concat([Buffer.from(before), Buffer.from([byte]), Buffer.from(after)])
          compare(scanner, random, bytes, () => `${before}, byte ${byte}, ${after}`)
          count++
        }
      }
    }
    assert.strictEqual(count, 256 * 15 * 10)
  })

  it("reads the last of members with the same name", () => {
    const cases: ReadonlyArray<readonly [string, string | undefined]> = [
      ['{"message":{"role":"user","role":"assistant"}}', "assistant"],
      ['{"message":{"role":"user","role":{"role":"x"}}}', undefined],
      ['{"message":{"role":"user","role":["x"]}}', undefined],
      ['{"message":{"role":"user","role":[]}}', undefined],
      ['{"message":{"role":"user","role":{}}}', undefined],
      ['{"message":{"role":"user","role":7}}', undefined],
      ['{"message":{"role":{"role":"x"},"role":"user"}}', "user"],
      ['{"message":{"role":"user"},"message":{"text":"x"}}', undefined],
      ['{"message":{"role":"user"},"message":[{"role":"x"}]}', undefined],
      ['{"message":{"role":"user"},"message":null}', undefined],
      ['{"message":{"content":{"role":"x"},"role":"user"},"details":{"role":"y"}}', "user"],
      ['{"role":"x"}', undefined]
    ]
    for (const [text, role] of cases) {
      const { scanner } = scanText(text)
      const found = scanner.role.start < 0 ? undefined : text.slice(scanner.role.start + 1, scanner.role.end - 1)
      assert.strictEqual(found, role, text)
    }
    const { scanner } = scanText('{"type":"a","\\u0074ype":"b","id":1,"id":null}')
    assert.deepStrictEqual([scanner.type.start, scanner.id.start], [24, 40])
  })

  it("reads any depth", () => {
    const depth = 100_000
    const objects = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
    const arrays = `${"[".repeat(depth)}${"]".repeat(depth)}`
    assert.strictEqual(scanText(objects).stop, objects.length)
    assert.strictEqual(scanText(arrays).stop, arrays.length)
    assert.strictEqual(scanText(objects.slice(0, -1)).stop, -1)
  })

  it("finds the first byte that is not JSON in a text", () => {
    const cases: ReadonlyArray<readonly [string, number]> = [
      ["", 0],
      ["{", 1],
      ['{"a":1,}', 7],
      ['{"a" 1}', 5],
      ['{"a":tru}', 5],
      ['["\u0001"]', 2],
      ['["\\x"]', 2],
      ["[1 2]", 3],
      ["-x", 1],
      ["1.", 2]
    ]
    for (const [text, at] of cases) {
      const { stop, scanner } = scanText(text)
      assert.deepStrictEqual([stop, scanner.scannedTo], [-1, at], text)
    }
  })
})
