/** Every reader in this package takes steps in proportion to the length of the text or session. */
import { assert, describe, it } from "@effect/vitest"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"

const counter = new StepCounter()
const { TextHash } = await import("../src/TextHash.ts")
const { imageKind } = await import("../src/ImageKind.ts")
const { closedBead, madeCommit, testsPassed } = await import("../src/internal/agentCommands.ts")
const { isCorrection } = await import("../src/internal/corrections.ts")
const { OpenCalls } = await import("../src/internal/openCalls.ts")
const { commandsOf } = await import("../src/internal/shellCommands.ts")
const Sessions = await import("./support/sessions.ts")

const readers: ReadonlyArray<TextReader> = [
  { name: "commandsOf", read: (text) => commandsOf(text) },
  {
    name: "testsPassed: the line",
    read: (line) => testsPassed({ line: `npm test ${line}`, isError: false, output: () => "" })
  },
  {
    name: "agentCommands: the output",
    length: 128,
    read: (text) => {
      for (const isError of [false, true]) {
        for (const printed of [
          text,
          `passed ${text}`,
          text.replaceAll(/.{9}/gsu, "\rClosed [a "),
          text.replaceAll(/.{4}/gsu, "\n[a 1")
        ]) {
          const output = (): string => printed
          testsPassed({ line: "npm test | cat", isError, output })
          madeCommit({ line: "git commit | cat", isError, output })
          closedBead({ line: "bd close a | cat", isError, output })
        }
      }
    }
  },
  { name: "isCorrection", read: (text) => isCorrection(`no, ${text}`, () => `?${text}`) },
  { name: "TextHash", read: (text) => new TextHash().add(text) },
  { name: "imageKind", read: (text) => imageKind(text) }
]

const many = <A>(text: string, make: (at: number) => A): ReadonlyArray<A> =>
  Array.from({ length: Math.ceil(text.length / 16) }, (_, at) => make(at))

const compaction = (firstKeptEntryId: string) => ({ type: "compaction", summary: "s", firstKeptEntryId })

const question = [Sessions.user("a"), Sessions.assistant([Sessions.text("b")])]

/** Readers for which only the length of the text matters. Sessions take some 2000 steps for each entry. */
const readersOfLength: ReadonlyArray<TextReader> = [
  {
    name: "OpenCalls",
    read: (text) => {
      const calls = many(text, (at) => ({ id: at % 3 === 0 ? "" : "a", name: String(at % 7) }))
      const open = new OpenCalls(calls)
      for (const { id, name } of calls) open.take(id, id === "" ? "" : name)
    }
  },
  {
    name: "extract: compactions without an answer",
    most: 4000,
    read: (text) =>
      Sessions.extract(Sessions.chain(...question, ...many(text, () => [Sessions.user("c"), compaction("e3")]).flat()))
  },
  {
    name: "extract: answers that edits remove",
    most: 4000,
    read: (text) => {
      const answers = many(text, (at) => Sessions.assistant([Sessions.text(String(at))]))
      const edits = answers.slice(1).map((_, at) => ({
        type: "context_edit",
        targetId: `e${at + 2}`,
        replacement: null
      }))
      Sessions.extract(Sessions.chain(...answers, ...edits, ...answers.map(() => compaction("e2"))))
    }
  },
  {
    name: "extract, cut: an answer with many calls",
    length: 4096,
    most: 4000,
    read: (text) => {
      const calls = many(text, (at) => Sessions.call(`c${at}`))
      const results = calls.map((_, at) => Sessions.result(`c${calls.length - 1 - at}`, "x"))
      const session = Sessions.chain(Sessions.user("a"), Sessions.assistant(calls), ...results, ...question)
      return [Sessions.extract(session), Sessions.samples(session)]
    }
  }
]

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })

  it.each(readersOfLength)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts.slice(0, 1)), [])
  })
})
