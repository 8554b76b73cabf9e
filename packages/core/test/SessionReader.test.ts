/** The reader's lines and diagnostics, for whole, damaged and split files. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type JsonObject } from "../src/Json.ts"
import * as Session from "../src/Session.ts"
import { HeaderLine, SessionEntry, type SessionLine } from "../src/SessionLine.ts"
import { peekHeader, SessionReader } from "../src/SessionReader.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"

const { assistant, header, places, text, user } = samples

const headerText = JSON.stringify(header)
const one = JSON.stringify(user("a", null, "one"))
const two = JSON.stringify(assistant("b", "a", "zwei – 二"))
const three = JSON.stringify(user("c", "b", "three"))
/** Offsets of the line after the header and of the line after `one`. */
const second = headerText.length + 1
const third = second + one.length + 1

const size = (text: string): number => Buffer.byteLength(text)

const readAll = (chunks: ReadonlyArray<Uint8Array>) => {
  const reader = new SessionReader()
  const lines: Array<SessionLine> = []
  for (const chunk of chunks) lines.push(...reader.push(chunk))
  lines.push(...reader.end())
  return { lines: lines.map(samples.describeLine), diagnostics: reader.diagnostics }
}

const read = (file: string | Uint8Array) => readAll([typeof file === "string" ? Buffer.from(file) : file])

/** Ids of the entries read, a recovered one in brackets. */
const entryIds = (file: string | Uint8Array): ReadonlyArray<string> =>
  Session.read(typeof file === "string" ? Buffer.from(file) : file)
    .tree.getEntries()
    .map(({ id, recovered }) => (recovered ? `(${id})` : String(id)))

/** A file, its diagnostics and its entries. */
interface Case {
  readonly name: string
  readonly file: string | Uint8Array
  readonly diagnostics: ReadonlyArray<readonly [code: string, line: number, byteOffset: number]>
  readonly entries: ReadonlyArray<string>
}

const cases: ReadonlyArray<Case> = [
  {
    name: "says nothing about a whole file",
    file: text(headerText, one, two, three),
    diagnostics: [],
    entries: ["a", "b", "c"]
  },
  {
    name: "names the line and byte of a malformed line",
    file: text(headerText, one, "not json", two),
    diagnostics: [["malformed-line", 3, third]],
    entries: ["a", "b"]
  },
  {
    name: "recovers all entries of a glued line",
    file: text(headerText, one + two + three),
    diagnostics: [["glued-line", 2, second]],
    entries: ["(a)", "(b)", "(c)"]
  },
  {
    name: "recovers a whole entry behind a torn one",
    file: text(headerText, one, two.slice(0, 40) + three),
    diagnostics: [
      ["glued-line", 3, third],
      ["unknown-parent", 3, third + 40]
    ],
    entries: ["a", "(c)"]
  },
  {
    name: "recovers a whole entry before a torn one",
    file: text(headerText, one + two.slice(0, 40), three),
    diagnostics: [
      ["malformed-line", 2, second],
      ["unknown-parent", 3, second + one.length + 41]
    ],
    entries: ["(a)", "c"]
  },
  {
    name: "names the line and byte of a torn last line",
    file: `${text(headerText, one)}${two.slice(0, 40)}`,
    diagnostics: [["torn-line", 3, third]],
    entries: ["a"]
  },
  {
    name: "recovers the whole entry before a torn one at the end",
    file: `${text(headerText)}${one}${two.slice(0, 40)}`,
    diagnostics: [["torn-line", 2, second]],
    entries: ["(a)"]
  },
  {
    name: "reports the position of the missing last newline",
    file: `${text(headerText, one)}${two}`,
    diagnostics: [["missing-final-newline", 3, third + size(two)]],
    entries: ["a", "b"]
  },
  {
    name: "recovers glued entries at the end of a file without a last newline",
    file: `${text(headerText)}${one}${two}`,
    diagnostics: [
      ["glued-line", 2, second],
      ["missing-final-newline", 2, second + one.length + size(two)]
    ],
    entries: ["(a)", "(b)"]
  },
  ...["null", "42", '"text"', "true", '[{"type":"message","id":"x"}]'].map((value) => ({
    name: `keeps the line ${value}, which is no object`,
    file: text(headerText, one, value, two),
    diagnostics: [["not-an-object", 3, third] as const],
    entries: ["a", "b"]
  })),
  {
    name: "reads an entry without a type",
    file: text(headerText, one, '{"id":"x","parentId":"a"}', '{"type":7,"id":"y"}'),
    diagnostics: [
      ["missing-type", 3, third],
      ["missing-type", 4, third + 26]
    ],
    entries: ["a", "x", "y"]
  },
  {
    name: "reads an entry without an id",
    file: text(headerText, one, '{"type":"custom"}', '{"type":"custom","id":{}}'),
    diagnostics: [
      ["missing-id", 3, third],
      ["missing-id", 4, third + 18]
    ],
    entries: ["a", "null", "null"]
  },
  {
    name: "reads an id that is a number or true, and links by it",
    file: text(headerText, '{"type":"custom","id":7}', '{"type":"custom","id":true,"parentId":7}', one),
    diagnostics: [],
    entries: ["#7", "#true", "a"]
  },
  {
    name: "does not miss the ids of a file of version 1",
    file: text('{"type":"session","id":"s"}', '{"type":"custom"}'),
    diagnostics: [],
    entries: ["null"]
  },
  {
    name: "misses the ids of a file of version 2",
    file: text('{"type":"session","version":2,"id":"s"}', '{"type":"custom"}'),
    diagnostics: [["missing-id", 2, 40]],
    entries: ["null"]
  },
  {
    name: "reads behind a byte order mark",
    file: `\ufeff${text(headerText, one)}`,
    diagnostics: [["bom", 1, 0]],
    entries: ["a"]
  },
  {
    name: "takes a byte order mark elsewhere for damage",
    file: text(headerText, `\ufeff${one}`),
    diagnostics: [["glued-line", 2, second]],
    entries: ["(a)"]
  },
  {
    name: "reports CR LF once",
    file: text(`${headerText}\r`, `${one}\r`, "\r", `${two}\r`),
    diagnostics: [["crlf", 1, 0]],
    entries: ["a", "b"]
  },
  {
    name: "reports CR LF where it first comes",
    file: text(headerText, one, `${two}\r`),
    diagnostics: [["crlf", 3, third]],
    entries: ["a", "b"]
  },
  {
    name: "names each line of invalid UTF-8",
    file: Buffer.concat([
      Buffer.from(`${headerText}\n{"type":"custom","id":"a","data":"`),
      Buffer.from([0xff, 0xc3]),
      Buffer.from(`"}\n${one}\n`),
      Buffer.from([0xed, 0xa0, 0x80, 0x0a])
    ]),
    diagnostics: [
      ["invalid-utf8", 2, second],
      ["duplicate-id", 3, second + 39],
      ["invalid-utf8", 4, second + 39 + one.length + 1],
      ["malformed-line", 4, second + 39 + one.length + 1]
    ],
    entries: ["a", "a"]
  },
  {
    name: "reports a file without a header",
    file: text(one, two),
    diagnostics: [["missing-header", 1, 0]],
    entries: ["a", "b"]
  },
  {
    name: "reports an empty file as one without a header",
    file: "",
    diagnostics: [["missing-header", 1, 0]],
    entries: []
  },
  {
    name: "takes a header without an id for none",
    file: text('{"type":"session","version":3}', one),
    diagnostics: [
      ["missing-id", 1, 0],
      ["missing-header", 1, 0]
    ],
    entries: ["a"]
  },
  {
    name: "reads a header that is not first",
    file: text(one, headerText, two),
    diagnostics: [["header-not-first", 2, one.length + 1]],
    entries: ["a", "b"]
  },
  {
    name: "lets blank and malformed lines stand before the header, as Pi does",
    file: text("", "# made by hand", headerText, one),
    diagnostics: [["malformed-line", 2, 1]],
    entries: ["a"]
  },
  {
    name: "ignores a second header",
    file: text(headerText, one, headerText, two),
    diagnostics: [["duplicate-header", 3, third]],
    entries: ["a", "b"]
  },
  {
    name: "names the later one of two entries with one id",
    file: text(headerText, one, JSON.stringify(user("a", null, "again"))),
    diagnostics: [["duplicate-id", 3, third]],
    entries: ["a", "a"]
  },
  {
    name: "names an entry whose parent is not in the file",
    file: text(headerText, one, three),
    diagnostics: [["unknown-parent", 3, third]],
    entries: ["a", "c"]
  },
  {
    name: "names the earliest entry of a circle",
    file: text(headerText, JSON.stringify(user("a", "c", "one")), two, three),
    diagnostics: [["cycle", 2, second]],
    entries: ["a", "b", "c"]
  },
  {
    name: "names an entry that is its own parent",
    file: text(headerText, one, JSON.stringify(user("b", "b", "self"))),
    diagnostics: [["cycle", 3, third]],
    entries: ["a", "b"]
  },
  {
    name: "passes over blank lines",
    file: text(headerText, "", one, " \t ", "\u00a0\u2003", two),
    diagnostics: [],
    entries: ["a", "b"]
  }
]

describe("SessionReader", () => {
  it.each(cases)("$name", ({ file, diagnostics, entries }) => {
    const bytes = typeof file === "string" ? Buffer.from(file) : file
    const session = Session.read(bytes)
    assert.deepStrictEqual(places(session.diagnostics), diagnostics)
    assert.deepStrictEqual(entryIds(bytes), entries)
    assert.isTrue(Buffer.from(Session.toBytes(session)).equals(bytes), "prints what it read")
  })

  it("reads white space around an entry as part of its line", () => {
    const { lines } = read(text(headerText, `\t ${one}  \r`))
    assert.deepInclude(lines[1], { kind: "entry", id: "a", bytes: `\t ${one}  \r`, timestamp: samples.timestamp })
  })

  it("does not end lines at U+2028 or control characters", () => {
    const separators = "\u2028\u2029\u0085\u000b\u000c"
    const inside = JSON.stringify(user("a", null, "x\u2028y\u2029z\u0085"))
    assert.deepStrictEqual(entryIds(text(headerText, inside, two)), ["a", "b"])
    assert.deepStrictEqual(entryIds(text(headerText, `${one}${separators}${three}`)), ["(c)"])
  })

  it("counts lines and bytes from the start of the file, in UTF-8", () => {
    const { lines } = read(text(headerText, two, "", three))
    assert.deepStrictEqual(
      lines.map((line) => [line["kind"], line["line"], line["byteOffset"]]),
      [
        ["header", 1, 0],
        ["entry", 2, second],
        ["line", 3, second + size(two) + 1],
        ["entry", 4, second + size(two) + 2]
      ]
    )
  })

  it("reads the envelope without decoding: type, id, parent, role and timestamp", () => {
    const { lines } = read(
      text(
        headerText,
        '{"message":{"role":"\\u0075ser","content":"x"},"timestamp":"2026\\u002d01","\\u0069d":"ä\\n","type":"message"}',
        '{"type":"custom","id":"b","parentId":7,"timestamp":8,"message":{"role":"user"}}'
      )
    )
    assert.deepInclude(lines[1], { type: "message", id: "ä\n", parentId: null, role: "user", timestamp: "2026-01" })
    assert.deepInclude(lines[2], { type: "custom", id: "b", parentId: "#7", role: undefined, timestamp: undefined })
  })

  it("reports diagnostics in plain English", () => {
    const { diagnostics } = read(`${text(headerText, one + two, "x")}{"type":`)
    assert.deepStrictEqual(
      diagnostics.map(({ message }) => message),
      [
        "several values on one line, which Pi skips whole; 2 whole entries on it were recovered",
        `no JSON (near byte ${second + one.length + size(two) + 1}); the rest is kept as it is`,
        "the last line breaks off; it is kept as it is"
      ]
    )
  })

  it("does not read blocks of a torn message as entries", () => {
    const call = '{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"x"}}'
    const torn = `{"type":"message","id":"b","parentId":"a","timestamp":"2026","message":{"role":"assistant","content":[${call}`
    for (const tail of ["", "\n", `\n${three}\n`, `${three}\n`]) {
      const found = entryIds(`${text(headerText, one)}${torn}${tail}`)
      assert.notInclude(found, "(call_1)", JSON.stringify(tail))
    }
  })

  it("reads long lines that are hard to read", () => {
    const lines = [
      '{"a":'.repeat(20_000),
      '{"type":'.repeat(20_000),
      '{"type":"x","id":"y","a":'.repeat(8_000),
      '{"'.repeat(40_000),
      `{"a":"${'{\\"a\\":'.repeat(20_000)}`,
      `[${'{"type":"x","id":"y"},'.repeat(8_000)}`,
      `{"a":[${'{"type":"x","id":"y","timestamp":"z"},'.repeat(8_000)}`,
      JSON.stringify(user("big", "a", 'text {" '.repeat(30_000))).slice(0, -3)
    ]
    for (const line of lines) {
      const file = text(headerText, one, line, two)
      const session = Session.readText(file)
      assert.strictEqual(Buffer.from(Session.toBytes(session)).toString(), file)
      assert.deepStrictEqual(entryIds(file).slice(0, 1), ["a"])
      assert.strictEqual(entryIds(file).at(-1), "b")
    }
  })

  it("recovers an entry behind a torn line of one megabyte", () => {
    const big = JSON.stringify(user("big", "a", '[{"x": 1}, '.repeat(100_000)))
    const file = text(headerText, one, big.slice(0, -5) + two)
    assert.deepStrictEqual(entryIds(file), ["a", "(b)"])
  })
})

describe("SessionReader.push", () => {
  const files = cases.map(({ file }) => (typeof file === "string" ? Buffer.from(file) : Buffer.from(file)))

  it("gives the same lines and diagnostics however the bytes are cut in two", () => {
    for (const file of files) {
      const whole = read(file)
      for (let at = 0; at <= file.length; at++) {
        assert.deepStrictEqual(readAll([file.subarray(0, at), file.subarray(at)]), whole, `${file}: cut at ${at}`)
      }
    }
  })

  it("gives the same lines and diagnostics from single bytes and from random pieces", () => {
    for (const file of files) {
      const whole = read(file)
      const bytes = Array.from(file, (_, at) => file.subarray(at, at + 1))
      assert.deepStrictEqual(readAll(bytes), whole, `${file}: single bytes`)
      for (const seed of settings.seeds(20)) {
        const random = SeededRandom.make(seed)
        const pieces: Array<Uint8Array> = []
        for (let at = 0; at < file.length;) {
          const next = at + random.int(80)
          pieces.push(file.subarray(at, next))
          at = next
        }
        assert.deepStrictEqual(readAll(pieces), whole, `${file}: seed ${seed}`)
      }
    }
  })

  it("returns a line as soon as its newline is there", () => {
    const reader = new SessionReader()
    const count = (chunk: string): number => reader.push(Buffer.from(chunk)).length
    assert.deepStrictEqual(
      [count(headerText), count("\n"), count(`${one}\n${two}`), count("\n"), count(three), reader.end().length],
      [0, 1, 1, 1, 0, 1]
    )
    assert.isEmpty(reader.end())
  })

  it("offers each line to `take`; `drain` returns the lines before it", () => {
    const seen: Array<string> = []
    const reader = new SessionReader({
      take: (bytes, start, end, line, byteOffset) => {
        for (const read of reader.drain()) seen.push(`read ${read.line}`)
        const taken = Buffer.from(bytes.subarray(start, end)).toString() === two
        seen.push(`${taken ? "took" : "left"} ${line} ${byteOffset}`)
        return taken
      }
    })
    for (const read of reader.push(Buffer.from(text(headerText, one, two, three, "torn"))))
      seen.push(`read ${read.line}`)
    const fourth = third + size(two) + 1
    assert.deepStrictEqual(seen, [
      "left 1 0",
      "read 1",
      `left 2 ${second}`,
      "read 2",
      `took 3 ${third}`,
      `left 4 ${fourth}`,
      "read 4",
      `left 5 ${fourth + size(three) + 1}`,
      "read 5"
    ])
    assert.deepStrictEqual(
      reader.diagnostics.map(({ code, line }) => [code, line]),
      [["malformed-line", 5]]
    )
  })

  it("has the header once its line is complete", () => {
    const reader = new SessionReader()
    const headerAfter = (chunk: string): JsonObject | undefined => {
      reader.push(Buffer.from(chunk))
      return reader.header?.decode()
    }
    assert.deepStrictEqual([headerAfter(headerText), headerAfter("\n")], [undefined, header])
  })
})

describe("peekHeader", () => {
  const peek = (file: string): JsonObject | undefined => peekHeader(Buffer.from(file))?.decode()

  it("reads the header from the start of a file", () => {
    assert.deepStrictEqual(peek(text(headerText, one) + two.slice(0, 20)), header)
    assert.deepStrictEqual(peek(headerText), header)
    assert.deepStrictEqual(peek(`\ufeff\n${headerText}`), header)
  })

  it("finds none where there is none", () => {
    for (const file of ["", "\n", one, headerText.slice(0, -1), '{"type":"session"}']) {
      assert.isUndefined(peek(file), file)
    }
  })
})

describe("SessionLine", () => {
  it("makes lines as Pi writes them: JSON.stringify and a newline, undefined left out", () => {
    const made = SessionEntry.make({ ...user("a", null, "ä\u2028\ud83e"), details: undefined })
    assert.strictEqual(made.text, JSON.stringify(user("a", null, "ä\u2028\ud83e")))
    assert.isTrue(made.terminated)
    assert.deepStrictEqual(samples.describeLine(made), {
      ...read(text(headerText, made.text)).lines[1],
      line: 0,
      byteOffset: 0
    })
    assert.strictEqual(HeaderLine.make(header).text, headerText)
  })

  it("rewrites an entry in its place, with its type", () => {
    const entry = Session.readText(text(headerText, one)).tree.getEntry("a")
    const rewritten = entry?.rewrite({ ...user("z", "y"), type: "other" })
    assert.deepStrictEqual(
      [rewritten?.id, rewritten?.parentId, rewritten?.type, rewritten?.line, rewritten?.byteOffset],
      ["z", "y", "message", 2, second]
    )
  })
})
