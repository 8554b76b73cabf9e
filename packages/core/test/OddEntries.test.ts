/**
 * Sessions with one odd entry: without a type, with another or no id or parent, or not an object. They are read as by Pi.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Json, isObject } from "../src/Json.ts"
import * as Session from "../src/Session.ts"
import * as SessionFork from "../src/SessionFork.ts"
import * as SessionContext from "../src/SessionContext.ts"
import * as files from "./support/files.ts"
import { asPiHasIt, compare, comparePlaces } from "./support/piAgreement.ts"
import * as settings from "./support/settings.ts"
import { files as walkFiles, pis, plain, same } from "./support/walks.ts"

/** Replacements for a type; undefined removes it. */
const NO_TYPES: ReadonlyArray<Json | undefined> = [undefined, null, 5, true, {}, [], ["message"], ""]

interface Members {
  readonly [key: string]: Json | undefined
}

const oneOf = <A>(random: SeededRandom.SeededRandom, values: ReadonlyArray<A>): A => values[random.int(values.length)]!

/** The text of a session in which some members of one entry are others. `index` is that of the entry. */
const altered = (session: Session.Session, index: number, members: Members) => {
  const entry = session.tree.getEntries()[index]
  const lines = session.lines.map((line) =>
    line === entry ? JSON.stringify({ ...entry?.decode(), ...members }) : line.text
  )
  return `${lines.join("\n")}\n`
}

/** Diagnostics of files that a Pi does not open, or on which it loops forever. */
const TROUBLE: ReadonlySet<string> = new Set(["cycle", "missing-header", "header-not-first"])

const isReadable = (session: Session.Session, version: PiVersion.PiVersion): boolean =>
  session.header !== undefined &&
  session.tree.getEntries().length > 0 &&
  !session.diagnostics.some(({ code }) => TROUBLE.has(code) || (code === "bom" && version === "1.5")) &&
  (version === "1.5" || session.lines.every(({ text }) => text.trim() !== "null"))

/** Whether Pi can make requests of a session: it fails on messages of some fixtures. */
const isRead = (pi: PiModule.PiModule, path: string, text: string): boolean => {
  Fs.writeFileSync(path, text)
  try {
    const { messages } = pi.SessionManager.open(path).buildSessionContext()
    pi.convertToLlm(messages)
    return messages.every((message) => isObject(plain(message)))
  } catch {
    return false
  }
}

/** Compares a session file as a real Pi and this library read it. */
const compareText = (
  pi: PiModule.PiModule,
  path: string,
  text: string,
  name: string,
  random: SeededRandom.SeededRandom,
  how: typeof compare = compare,
  samples = 3
): void => {
  Fs.writeFileSync(path, text)
  const manager = pi.SessionManager.open(path)
  how({
    name: `${name}, read by Pi ${pi.version}`,
    pi,
    manager,
    session: asPiHasIt(Session.readText(text)),
    random,
    samples
  })
}

describe("an entry without a type", () => {
  it.effect.each(PiVersion.versions)(
    "is read as both real Pis read it, in walks of Pi %s",
    Effect.fnUntraced(function* (version) {
      const found = yield* walkFiles(version, settings.walks(5))
      const path = Path.join(yield* temporaryFolder, "typeless.jsonl")
      for (const pi of yield* pis) {
        let compared = 0
        for (const { name, random, session } of found) {
          const count = session.tree.getEntries().length
          // The last one is the leaf, and the first one the root.
          for (const index of new Set([random.int(count), count - 1, 0])) {
            const text = altered(session, index, { type: oneOf(random, NO_TYPES) })
            compareText(pi, path, text, `${name}, entry ${index} of ${count}`, random)
            compared++
          }
        }
        settings.note(
          `OddEntries: ${found.length} sessions of Pi ${version}, with ${compared} types taken away, agree with Pi ${pi.version}`
        )
        assert.isAtLeast(compared, found.length)
      }
    })
  )

  it.effect.each(PiVersion.versions)(
    "is read as Pi %s reads it, anywhere in a fixture and in the corpus",
    Effect.fnUntraced(function* (version) {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const path = Path.join(yield* temporaryFolder, "typeless.jsonl")
      const passedOver: Array<string> = []
      let sessions = 0
      let compared = 0
      const fixtures = new Set(files.fixtures())
      for (const file of [...fixtures, ...files.corpus()]) {
        const session = Session.asPiReads(Session.read(Fs.readFileSync(file)))
        const whole = Buffer.from(Session.toBytes(session)).toString("utf8")
        if (!isReadable(session, version) || !isRead(pi, path, whole)) {
          passedOver.push(Path.basename(file))
          continue
        }
        sessions++
        const random = SeededRandom.make(settings.firstSeed() + sessions)
        const count = session.tree.getEntries().length
        const isFixture = fixtures.has(file)
        const isSmall = isFixture && count <= 60
        // The corpus has long sessions, which take a second each time.
        const indexes =
          isSmall && settings.isCampaign()
            ? Array(count).keys()
            : new Set(isFixture || settings.isCampaign() ? [0, random.int(count), count - 1] : [random.int(count)])
        const how = comparePlacesOrIds(session)
        // Pi fails on some contexts inside fixtures.
        const samples = isSmall ? 0 : isFixture ? 2 : 1
        compareText(pi, path, whole, file, random, how, samples)
        for (const index of indexes) {
          const text = altered(session, index, { type: oneOf(random, NO_TYPES) })
          if (!isReadable(Session.readText(text), version) || !isRead(pi, path, text)) continue
          compareText(pi, path, text, `${file}, entry ${index} of ${count}`, random, how, samples)
          compared++
        }
      }
      settings.note(
        `OddEntries: ${sessions} fixtures and sessions of the corpus, as they are and with ${compared} types taken away, agree with Pi ${version}`
      )
      settings.note(`OddEntries: Pi ${version} itself reads no context of ${passedOver.join(", ")}`)
      assert.isAtLeast(compared, sessions)
    })
  )
})

/** Entries of migrated sessions are compared by id, because Pi's ids are random. */
const comparePlacesOrIds = (session: Session.Session): typeof compare =>
  session.header?.decode()["version"] === 3 ? comparePlaces : compare

const IDS: ReadonlyArray<Json | undefined> = [undefined, null, 0, false, "", 5, -1.5, 1e21, true, {}, [], ["a"]]

describe("an entry with another id or parent", () => {
  it.effect.each(PiVersion.versions)(
    "is read as both real Pis read it, in walks of Pi %s",
    Effect.fnUntraced(function* (version) {
      const found = yield* walkFiles(version, settings.walks(5))
      const path = Path.join(yield* temporaryFolder, "odd.jsonl")
      for (const pi of yield* pis) {
        let compared = 0
        for (const { name, random, session } of found) {
          const entries = session.tree.getEntries()
          for (const index of new Set([random.int(entries.length), entries.length - 1])) {
            const value = oneOf(random, IDS)
            const members = oneOf<Members>(random, [
              { id: value },
              { parentId: value },
              { id: value, type: undefined },
              { id: value, parentId: undefined },
              // Another entry's.
              { parentId: entries[random.int(index + 1)]?.id }
            ])
            const text = renamed(session, index, members, random)
            if (!isReadable(Session.readText(text), pi.version)) continue
            const what = `entry ${index} of ${entries.length} with ${JSON.stringify(members)}`
            compareText(pi, path, text, `${name}, ${what}`, random, comparePlaces)
            compared++
          }
        }
        settings.note(
          `OddEntries: ${compared} odd ids and parents in sessions of Pi ${version} agree with Pi ${pi.version}`
        )
        assert.isAtLeast(compared, found.length)
      }
    })
  )
})

/** As `altered`, with some references to the old id changed to the new one. */
const renamed = (
  session: Session.Session,
  index: number,
  members: Members,
  random: SeededRandom.SeededRandom
): string => {
  const text = altered(session, index, members)
  const before = JSON.stringify(session.tree.getEntries()[index]?.id)
  const now = JSON.stringify(members["id"] ?? null)
  if (!("id" in members)) return text
  return text.replaceAll(`Id":${before}`, (match) => (random.chance(0.7) ? `Id":${now}` : match))
}

const VALUES = [
  "42",
  '"text"',
  "[]",
  "[1]",
  "true",
  "0",
  "-0.0",
  "false",
  '""',
  "{}",
  '{"id":null}',
  '{"parentId":7}',
  "null"
]

describe("a line that is not an entry", () => {
  it.effect.each(PiVersion.versions)(
    "is read as both real Pis read it, in walks of Pi %s",
    Effect.fnUntraced(function* (version) {
      const found = yield* walkFiles(version, settings.walks(5))
      const path = Path.join(yield* temporaryFolder, "values.jsonl")
      for (const pi of yield* pis) {
        let compared = 0
        for (const { bytes, name, random } of found) {
          for (const isLast of [true, false]) {
            const lines = bytes.toString("utf8").split("\n").slice(0, -1)
            const value = oneOf(random, pi.version === "0.78" ? VALUES.slice(0, -1) : VALUES) ?? ""
            lines.splice(isLast ? lines.length : 1 + random.int(lines.length - 1), 0, value)
            compareText(pi, path, `${lines.join("\n")}\n`, `${name}, with ${value}`, random, comparePlaces)
            compared++
          }
        }
        settings.note(`OddEntries: ${compared} odd lines in sessions of Pi ${version} agree with Pi ${pi.version}`)
      }
    })
  )
})

describe("a fork of a session with an odd entry", () => {
  it.effect(
    "has its context, at the leaf and elsewhere",
    Effect.fnUntraced(function* () {
      const header = { id: "fork", timestamp: "2026-01-05T10:00:00.000Z", cwd: "/work" }
      for (const { name, random, session } of yield* walkFiles("1.5", settings.walks(5))) {
        const entries = session.tree.getEntries()
        const index = random.chance(0.5) ? entries.length - 1 : random.int(entries.length)
        const members = oneOf<Members>(random, [
          { type: undefined },
          { id: undefined },
          { id: 7 },
          { id: true, type: null }
        ])
        const source = Session.readText(renamed(session, index, members, random))
        const forked = SessionFork.branch(source, undefined, header)
        const context = (of: Session.Session | undefined): Json =>
          of === undefined ? null : plain(SessionContext.build(Session.read(Session.toBytes(of)).tree))
        same(context(forked), context(source), `${name}, entry ${index} with ${JSON.stringify(members)}`)
        assert.deepStrictEqual(
          forked?.diagnostics.filter(({ code }) => code === "unknown-parent"),
          []
        )
      }
    })
  )
})
