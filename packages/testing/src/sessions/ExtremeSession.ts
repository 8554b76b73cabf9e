/**
 * Session files of extreme shapes: very many lines of one kind, very long lines, very deep and very wide trees. Each
 * shape grows in proportion to `n`, so that a program whose cost is linear in the bytes takes twice as long for `2 * n`.
 */
import * as Fs from "node:fs"

export interface ExtremeSession {
  readonly name: string
  /** The lines of the file, each with its newline. Long lines come in pieces. */
  readonly lines: (n: number) => Iterable<string>
}

const HEADER = `${JSON.stringify({ type: "session", version: 3, id: "extreme", timestamp: "2026-01-05T10:00:00.000Z", cwd: "/" })}\n`
const TIME = "2026-01-05T10:00:00.000Z"

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

const entry = (id: string | undefined, parentId: string | null, rest: object): string =>
  line({ ...rest, id, parentId, timestamp: TIME })

const user = (id: string | undefined, parentId: string | null, text = "go on"): string =>
  entry(id, parentId, { type: "message", message: { role: "user", content: [{ type: "text", text }], timestamp: 1 } })

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0 } }

const assistant = (id: string, parentId: string | null, content: ReadonlyArray<object>): string =>
  entry(id, parentId, {
    type: "message",
    message: {
      role: "assistant",
      content,
      provider: "p",
      model: "m",
      api: "a",
      usage,
      stopReason: "stop",
      timestamp: 2
    }
  })

const result = (id: string, parentId: string, toolCallId: string): string =>
  entry(id, parentId, {
    type: "message",
    message: {
      role: "toolResult",
      toolCallId,
      toolName: "bash",
      content: [{ type: "text", text: "ok" }],
      isError: false,
      timestamp: 3
    }
  })

const call = (id: string) => ({ type: "toolCall", id, name: "bash", arguments: { command: "ls" } })
const text = (value: string) => ({ type: "text", text: value })

const each = function* (n: number, make: (index: number) => string): Generator<string> {
  for (let index = 0; index < n; index++) yield make(index)
}

/** A header and an exchange, followed by what the shape generates. */
const after = (name: string, make: (n: number) => Iterable<string>): ExtremeSession => ({
  name,
  lines: function* (n) {
    yield HEADER
    yield user("first", null)
    yield assistant("answer", "first", [text("done")])
    yield* make(n)
  }
})

const many = (name: string, make: (index: number, n: number) => string): ExtremeSession =>
  after(name, (n) => each(n, (index) => make(index, n)))

const before = (index: number): string => (index === 0 ? "answer" : `e${index - 1}`)

const PIECE = 1 << 16

/** Repeats a text in pieces, for lines longer than the longest string. */
const repeat = function* (unit: string, times: number): Generator<string> {
  const inPiece = Math.max(1, Math.floor(PIECE / unit.length))
  const piece = unit.repeat(Math.min(inPiece, times))
  let left = times
  for (; left >= inPiece; left -= inPiece) yield piece
  if (left > 0) yield unit.repeat(left)
}

/** One user message with something very long inside. */
const inside = (name: string, make: (n: number) => Iterable<string>): ExtremeSession =>
  after(name, function* (n) {
    const whole = user("long", "answer", "HERE")
    const [head = "", tail = ""] = whole.split('"HERE"')
    yield head
    yield* make(n)
    yield tail
    yield assistant("last", "long", [text("done")])
  })

/** One line that is not an entry. */
const alone = (name: string, make: (n: number) => Iterable<string>): ExtremeSession =>
  after(name, function* (n) {
    yield* make(n)
    yield "\n"
    yield user("last", "answer")
  })

const manyLines: ReadonlyArray<ExtremeSession> = [
  many("blank lines", () => "\n"),
  many("lines of spaces", () => "  \r\n"),
  many("null lines", () => "null\n"),
  many("number lines", () => "0\n"),
  many("empty objects", () => "{}\n"),
  many("objects without a type", (index) => `{"id":"t${index}"}\n`),
  many("damaged lines", () => "x\n"),
  many("torn entries", () => '{"type":"message","id":"torn"\n'),
  many("headers", () => HEADER),
  many("headers without an id", () => '{"type":"session"}\n'),
  { name: "header-less blank lines", lines: (n) => each(n, () => "\n") },
  { name: "header-less null lines", lines: (n) => each(n, () => "null\n") },
  {
    name: "header-less entries",
    lines: (n) => each(n, (index) => user(`e${index}`, index === 0 ? null : before(index)))
  }
]

const trees: ReadonlyArray<ExtremeSession> = [
  many("a chain", (index) => user(`e${index}`, before(index))),
  many("a chain backwards", (index, n) => user(`e${index}`, index === n - 1 ? "answer" : `e${index + 1}`)),
  many("children of one entry", (index) => user(`e${index}`, "answer")),
  many("roots", (index) => user(`e${index}`, null)),
  many("a comb", (index) => user(`e${index}`, index < 2 ? "answer" : `e${index - 1 - (index % 2)}`)),
  many("unknown parents", (index) => user(`e${index}`, `lost${index}`)),
  many("one unknown parent", (index) => user(`e${index}`, "lost")),
  many("a circle", (index, n) => user(`e${index}`, index === 0 ? `e${n - 1}` : before(index))),
  many("small circles", (index) => user(`e${index}`, `e${index % 2 === 0 ? index + 1 : index - 1}`)),
  many("parents of themselves", (index) => user(`e${index}`, `e${index}`)),
  many("one id", (index) => user("same", "answer", String(index))),
  many("one id, each the parent of the next", (index) => user("same", index === 0 ? "answer" : "same", String(index))),
  many("one line again and again", () => user("same", "answer")),
  many("no ids", () => user(undefined, null)),
  many("empty ids", () => user("", "")),
  {
    name: "a list of version 1",
    lines: function* (n) {
      yield line({ type: "session", id: "extreme", timestamp: TIME, cwd: "/" })
      yield* each(n, (index) =>
        line({ type: "message", timestamp: TIME, message: { role: "user", content: `say ${index}` } })
      )
    }
  },
  {
    name: "hook messages of version 2",
    lines: function* (n) {
      yield line({ type: "session", version: 2, id: "extreme", timestamp: TIME, cwd: "/" })
      yield* each(n, (index) =>
        entry(`e${index}`, index === 0 ? null : before(index), {
          type: "message",
          message: { role: "hookMessage", customType: "x", content: "y", display: true, timestamp: 1 }
        })
      )
    }
  }
]

const entries: ReadonlyArray<ExtremeSession> = [
  many("labels", (index) =>
    entry(`e${index}`, before(index), { type: "label", targetId: "first", label: `l${index}` })
  ),
  many("labels of one another", (index) =>
    entry(`e${index}`, before(index), { type: "label", targetId: before(index), label: `l${index}` })
  ),
  many("labels of lost entries", (index) =>
    entry(`e${index}`, before(index), { type: "label", targetId: `lost${index}`, label: "l" })
  ),
  many("compactions that keep all", (index) =>
    entry(`e${index}`, before(index), { type: "compaction", summary: "s", firstKeptEntryId: "first", tokensBefore: 1 })
  ),
  many("compactions that keep lost entries", (index) =>
    entry(`e${index}`, before(index), { type: "compaction", summary: "s", firstKeptEntryId: "lost", tokensBefore: 1 })
  ),
  many("branch summaries", (index) =>
    entry(`e${index}`, before(index), { type: "branch_summary", summary: "s", fromId: "first" })
  ),
  many("context edits", (index) =>
    entry(`e${index}`, before(index), { type: "context_edit", targetId: "first", replacement: { content: "n" } })
  ),
  many("names", (index) => entry(`e${index}`, before(index), { type: "session_info", name: `n${index}` })),
  many("models", (index) =>
    entry(`e${index}`, before(index), { type: "model_change", provider: "p", modelId: `m${index}` })
  ),
  many("unknown types", (index) => entry(`e${index}`, before(index), { type: `t${index}` })),
  many("entries without times", (index) =>
    line({ type: "custom", customType: "c", id: `e${index}`, parentId: before(index) })
  ),
  many("answers without content", (index) =>
    entry(`e${index}`, before(index), { type: "message", message: { role: "assistant" } })
  ),
  many("messages without a message", (index) => entry(`e${index}`, before(index), { type: "message" })),
  many("calls and results", (index) =>
    index % 2 === 0
      ? assistant(`e${index}`, before(index), [call(`c${index}`)])
      : result(`e${index}`, before(index), `c${index - 1}`)
  ),
  many("calls without results", (index) => assistant(`e${index}`, before(index), [call(`c${index}`)])),
  many("calls of one id", (index) => assistant(`e${index}`, before(index), [call("c")])),
  many("calls of one id on branches, then their results", (index, n) =>
    index < n / 2
      ? assistant(`e${index}`, "first", [call("c")])
      : result(`e${index}`, `e${index - Math.ceil(n / 2)}`, "c")
  ),
  many("results of one call", (index) => result(`e${index}`, before(index), "c")),
  after("calls in one message, then their results", function* (n) {
    const [head = "", tail = ""] = assistant("calls", "answer", [text("HERE")]).split(JSON.stringify(text("HERE")))
    yield head
    yield* each(n, (index) => `${index === 0 ? "" : ","}${JSON.stringify(call(`c${index}`))}`)
    yield tail
    yield* each(n, (index) => result(`e${index}`, index === 0 ? "calls" : before(index), `c${n - 1 - index}`))
  }),
  after("results without calls, in a chain", (n) => each(n, (index) => result(`e${index}`, before(index), `c${index}`)))
]

const nested = (open: string, close: string) =>
  function* (n: number): Generator<string> {
    const depth = Math.floor(n / 2)
    yield '"HERE","nested":'
    yield* repeat(open, depth)
    yield "1"
    yield* repeat(close, depth)
  }

const longLines: ReadonlyArray<ExtremeSession> = [
  inside("a long text", function* (n) {
    yield '"'
    yield* repeat("word ", n)
    yield '"'
  }),
  inside("a long text of line breaks", function* (n) {
    yield '"'
    yield* repeat("\\n", n)
    yield '"'
  }),
  inside("a long text of escapes", function* (n) {
    yield '"'
    yield* repeat("\\u0041", n)
    yield '"'
  }),
  inside("a long text of wide characters", function* (n) {
    yield '"'
    yield* repeat("\u{1f600}", n)
    yield '"'
  }),
  inside("a long number", function* (n) {
    yield '"HERE","number":1'
    yield* repeat("0", n)
  }),
  inside("many blocks in one message", function* (n) {
    yield '"HERE"}'
    yield* each(n, (index) => `,${JSON.stringify(text(`t${index}`))}`)
    yield ',{"type":"text","text":"last"'
  }),
  inside("null blocks", function* (n) {
    yield '"HERE"}'
    yield* repeat(",null", n)
    yield ',{"type":"text","text":"last"'
  }),
  inside("many keys", function* (n) {
    yield '"HERE"'
    yield* each(n, (index) => `,"k${index}":1`)
  }),
  inside("one key again and again", function* (n) {
    yield '"HERE"'
    yield* repeat(',"type":"text"', n)
  }),
  inside("nested arrays", nested("[", "]")),
  inside("nested objects", nested('{"a":', "}")),
  alone("a long damaged line", (n) => repeat("x", n)),
  alone("a long line of spaces", (n) => repeat(" ", n)),
  alone("opened objects", (n) => repeat('{"', n)),
  alone("opened nested objects", (n) => repeat('{"type":"a","id":"b","timestamp":"c","x":', n)),
  alone("empty objects on one line", (n) => repeat("{}", n)),
  alone("entries on one line", (n) => each(n, (index) => user(`e${index}`, before(index)).trimEnd())),
  alone("a long array", function* (n) {
    yield "[0"
    yield* repeat(",0", n)
    yield "]"
  }),
  many("long ids", (index) =>
    user(`${index}${"i".repeat(1000)}`, index === 0 ? "answer" : `${index - 1}${"i".repeat(1000)}`)
  ),
  {
    name: "a long header",
    lines: function* (n) {
      yield HEADER.replace("}\n", ',"more":"')
      yield* repeat("word ", n)
      yield '"}\n'
      yield user("first", null)
    }
  }
]

export const shapes: ReadonlyArray<ExtremeSession> = [...manyLines, ...trees, ...entries, ...longLines]

export const shape = (name: string): ExtremeSession => {
  const found = shapes.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no shape of this name: ${name}`)
  return found
}

/** Writes a shape to a file. Returns its size in bytes. */
export const write = (path: string, { lines }: ExtremeSession, n: number): number => {
  const file = Fs.openSync(path, "w")
  let bytes = 0
  let batch = ""
  const flush = (): void => {
    bytes += Fs.writeSync(file, batch)
    batch = ""
  }
  for (const piece of lines(n)) {
    batch += piece
    if (batch.length > 1 << 20) flush()
  }
  flush()
  Fs.closeSync(file)
  return bytes
}
