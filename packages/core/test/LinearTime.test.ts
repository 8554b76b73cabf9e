/** Every reader of untrusted text in this package is linear: its steps, counted on hostile texts, grow as the text. */
import { assert, describe, it } from "@effect/vitest"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import * as Dose from "@pi-sessions/testing/Dose"
import { type HostileText, families } from "@pi-sessions/testing/steps/HostileText"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"

const counter = new StepCounter()
const ClaudeCodeSession = await import("../src/ClaudeCodeSession.ts")
const GasTown = await import("../src/GasTown.ts")
const GasTownBeacon = await import("../src/gasTown/GasTownBeacon.ts")
const GasTownPath = await import("../src/gasTown/GasTownPath.ts")
const ModelContext = await import("../src/ModelContext.ts")
const Session = await import("../src/Session.ts")
const SessionContext = await import("../src/SessionContext.ts")
const SessionOutline = await import("../src/SessionOutline.ts")
const SessionPath = await import("../src/SessionPath.ts")
const { SessionReader, peekHeader } = await import("../src/SessionReader.ts")
const JsonText = await import("../src/JsonText.ts")
const LineValue = await import("../src/LineValue.ts")
const SessionFork = await import("../src/SessionFork.ts")
const SessionMigration = await import("../src/SessionMigration.ts")
const ValueText = await import("../src/ValueText.ts")
const WellFormed = await import("../src/WellFormed.ts")

const header = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/a"}\n'

const entry = (id: number, message: object): string =>
  `${JSON.stringify({ type: "message", id: `e${id}`, parentId: id === 0 ? null : `e${id - 1}`, timestamp: "2026-01-01T00:00:00.000Z", message })}\n`

/** A session of one message with the text, and many messages with pieces of it. */
const sessionOf = (text: string): string => {
  const pieces = Array.from({ length: Math.ceil(text.length / 64) }, (_, at) => text.slice(at * 64, at * 64 + 64))
  return header + [text, ...pieces].map((content, id) => entry(id, { role: "user", content, timestamp: 1 })).join("")
}

const environment = { home: "/home/a", cwd: "/w" }

const readers: ReadonlyArray<TextReader> = [
  { name: "SessionReader: a line", read: (text) => Session.readText(text) },
  { name: "SessionReader: a damaged entry", read: (text) => Session.readText(`${header}{"type":"message",${text}`) },
  {
    name: "SessionReader: glued entries",
    read: (text) => Session.readText(header + sessionOf(text).replaceAll("\n", ""))
  },
  { name: "SessionReader.peekHeader", read: (text) => peekHeader(Buffer.from(text)) },
  {
    name: "Session, SessionTree, SessionContext",
    read: (text) => {
      const session = Session.readText(sessionOf(text))
      return SessionContext.build(session.tree)
    }
  },
  {
    name: "SessionOutline",
    read: (text) => {
      const { session, texts } = SessionOutline.of(Session.readText(sessionOf(text)))
      return session.tree.getEntries().map((one) => texts.restore(JSON.stringify(one.decode())))
    }
  },
  {
    name: "ClaudeCodeSession",
    read: (text) =>
      ClaudeCodeSession.fromLines(
        Session.readText(
          [text, text.slice(0, 64), `<command-name>${text}`]
            .map((content, at) =>
              JSON.stringify({
                type: "user",
                uuid: `u${at}`,
                parentUuid: at === 0 ? null : `u${at - 1}`,
                sessionId: "s",
                timestamp: "2026-01-01T00:00:00.000Z",
                cwd: text,
                message: { role: "user", content }
              })
            )
            .join("\n")
        ).lines
      )
  },
  {
    name: "ModelContext.bashExecutionToText",
    read: (text) => ModelContext.bashExecutionToText({ command: text, output: text })
  },
  { name: "ModelContext.contentText", read: (text) => ModelContext.contentText([{ type: "text", text }]) },
  ...[
    "",
    "[GAS TOWN] ",
    "[GAS TOWN] mayor <- ",
    "[GAS TOWN] crew a (rig:",
    "[GAS TOWN role:",
    "[a] b/polecat-1 \u2022 "
  ].map((start) => ({
    name: `GasTownBeacon.parse: ${JSON.stringify(start)}`,
    read: (text: string) => GasTownBeacon.parse(start + text)
  })),
  {
    name: "GasTownBeacon.parse: a recipient",
    read: (text) => GasTownBeacon.parse(`[GAS TOWN] crew a (rig: ${text} <- b`)
  },
  { name: "GasTownBeacon.parsePrime", read: (text) => GasTownBeacon.parsePrime(`# ${text}`) },
  { name: "GasTownBeacon.parsePrime: a role", read: (text) => GasTownBeacon.parsePrime(`[GAS TOWN] role:${text}`) },
  { name: "GasTownPath.fromCwd", read: (text) => GasTownPath.fromCwd(`/a/${text}`) },
  { name: "GasTownPath.fromCwd in a town", read: (text) => GasTownPath.fromCwd(text, { town: `/a/${text}` }) },
  { name: "GasTownPath.normalize", read: (text) => GasTownPath.normalize(text) },
  { name: "GasTownPath.parseAddress", read: (text) => GasTownPath.parseAddress(text) },
  { name: "GasTownPath.fromSessionDirName", read: (text) => GasTownPath.fromSessionDirName(`--${text}--`) },
  { name: "GasTownPath.roleBySeedPatterns", read: (text) => GasTownPath.roleBySeedPatterns(text) },
  {
    name: "GasTown.matchesRig",
    read: (text) => GasTown.matchesRig(GasTown.detect({ cwd: "/gt/a/crew/b" }), text.replaceAll("*", "a"))
  },
  { name: "SessionPath.encodeCwd", read: (text) => SessionPath.encodeCwd(text) },
  { name: "SessionPath.fileName", read: (text) => SessionPath.fileName(text, text) },
  { name: "SessionPath.expand", read: (text) => SessionPath.expand(`/${text}`, environment) }
]

/** A text of so many units; `text` only gives the length. */
const times = (text: string, unit: string): string => unit.repeat(Math.ceil(text.length / 8))

/** `count` values by index, for one line of a file each. */
const linesOf = (text: string, line: (at: number, count: number) => object): string => {
  const count = Math.ceil(text.length / 8)
  return Array.from({ length: count }, (_, at) => `${JSON.stringify(line(at, count))}\n`).join("")
}

const timestamp = "2026-01-01T00:00:00.000Z"
const transcriptLine = (type: string, at: number, parent: number | null, more: object = {}): object => ({
  type,
  uuid: `u${at}`,
  parentUuid: parent === null ? null : `u${parent}`,
  sessionId: "s",
  timestamp,
  cwd: "/",
  ...more
})
const transcript = (text: string) => ClaudeCodeSession.fromLines(Session.readText(text).lines)
const saysUser = { message: { role: "user", content: "x" } }
const answers = { message: { id: "m", role: "assistant", model: "a", content: [{ type: "text", text: "x" }] } }

/** All that is done with a session, whatever its entries. */
const useSession = (text: string): void => {
  const session = Session.readText(text)
  const { tree } = SessionMigration.toCurrent(session)
  tree.toNodes()
  tree.labels()
  SessionContext.build(tree)
  Session.asPiReads(session)
  SessionFork.branch(session, undefined, { id: "f", timestamp, cwd: "/" })
}

/** Readers of structure: their input is built of `text.length / 8` equal parts. */
const structures: ReadonlyArray<TextReader> = [
  ...["gt", ".gc", "crew", "polecats/crew", "deacon", "mayor", ".."].map((part) => ({
    name: `GasTownPath.fromCwd: ${part}`,
    read: (text: string) => GasTownPath.fromCwd(`/a/${times(text, `${part}/`)}`)
  })),
  { name: "GasTownPath.fromCwd: a crew", read: (text) => GasTownPath.fromCwd(`/gt/a/crew/${times(text, "-from-")}\n`) },
  {
    name: "SessionReader: a byte at a time",
    read: (text) => {
      const reader = new SessionReader()
      for (const byte of Buffer.from(text)) reader.push(Uint8Array.of(byte))
      return reader.end()
    }
  },
  { name: "JsonText.faultIn: opened objects", read: (text) => JsonText.faultIn(Buffer.from(times(text, '{"a":'))) },
  {
    name: "LineValue: lists",
    read: (text) => Session.readText(`${times(text, "[")}\n${times(text, "[],")}\n`).lines.map(LineValue.valueOf)
  },
  {
    name: "ValueText: nested lists",
    read: (text) => ValueText.stringify(JSON.parse(`${times(text, "[")}${times(text, "]")}`))
  },
  { name: "WellFormed.json", read: (text) => WellFormed.json({ [text]: [text, times(text, "\ud83d")] }) },
  {
    name: "a session: equal ids",
    read: (text) => useSession(header + linesOf(text, () => ({ type: "custom", id: "a", parentId: "a", timestamp })))
  },
  {
    name: "a session: parents in one cycle",
    read: (text) =>
      useSession(
        header +
          linesOf(text, (at, count) => ({ type: "custom", id: `${at}`, parentId: `${(at + 1) % count}`, timestamp }))
      )
  },
  {
    name: "a session: labels of labels",
    read: (text) =>
      useSession(
        header +
          linesOf(text, (at) => ({
            type: "label",
            id: `${at}`,
            parentId: `${at - 1}`,
            targetId: `${at - 1}`,
            label: "x",
            timestamp
          }))
      )
  },
  {
    name: "a session: compactions",
    read: (text) =>
      useSession(
        header +
          linesOf(text, (at) => ({
            type: "compaction",
            id: `${at}`,
            parentId: `${at - 1}`,
            firstKeptEntryId: "0",
            summary: "x",
            timestamp
          }))
      )
  },
  {
    name: "a session of version 1",
    read: (text) => useSession(header.replace("3", "1") + linesOf(text, () => ({ type: "message", message: {} })))
  },
  {
    name: "ClaudeCodeSession: one answer, and interruptions of each of its lines",
    read: (text) =>
      transcript(
        linesOf(text, (at, count) =>
          at < count / 2
            ? transcriptLine("assistant", at, at === 0 ? null : at - 1, answers)
            : transcriptLine("user", at, at - Math.floor(count / 2), saysUser)
        )
      )
  },
  {
    name: "ClaudeCodeSession: users that all follow a chain of lines without entries",
    read: (text) =>
      transcript(
        linesOf(text, (at, count) =>
          at < count / 2
            ? transcriptLine("progress", at, at === 0 ? null : at - 1)
            : transcriptLine("user", at, Math.ceil(count / 2) - 1, saysUser)
        )
      )
  }
]

/** Only the length matters to readers of structure. */
const plainTexts: ReadonlyArray<HostileText> = [{ name: "x", text: (length) => "x".repeat(length) }]

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    const parity = readers.indexOf(reader) % 2
    const texts = Dose.isCampaign() ? families : hostileTexts.filter((_, at) => at % 2 === parity)
    assert.deepStrictEqual(await steepTexts(counter, reader, texts), [])
  })

  it.each(structures)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, { ...reader, length: 2048, most: 10_000 }, plainTexts), [])
  })
})
