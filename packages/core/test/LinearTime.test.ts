/** Every reader of text of this package needs steps in proportion to the text. */
import { assert, describe, it } from "@effect/vitest"
import { StepCounter } from "@pi-sessions/testing/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/StepGrowth"

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
const { peekHeader } = await import("../src/SessionReader.ts")

const header = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/a"}\n'

const entry = (id: number, message: object): string =>
  `${JSON.stringify({ type: "message", id: `e${id}`, parentId: id === 0 ? null : `e${id - 1}`, timestamp: "2026-01-01T00:00:00.000Z", message })}\n`

/** A session in which one message says the text, and then many messages say pieces of it. */
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
  ...["gt", ".gc", "crew", "polecats/crew", "deacon", "mayor", ".."].map((part) => ({
    name: `GasTownPath.fromCwd: ${part}`,
    read: (text: string) => GasTownPath.fromCwd(`/a/${text.replaceAll(/[^/]{3}/gu, `${part}/`)}`)
  })),
  {
    name: "GasTownPath.fromCwd: a crew",
    read: (text) => GasTownPath.fromCwd(`/gt/a/crew/${text.replaceAll(/.{6}/gu, "-from-")}\n`)
  },
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

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })
})
