/** Forks, beside both real Pis. */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Json, type JsonObject } from "../src/Json.ts"
import * as Session from "../src/Session.ts"
import * as SessionContext from "../src/SessionContext.ts"
import * as SessionFork from "../src/SessionFork.ts"
import { type SessionEntry } from "../src/SessionLine.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"
import { files as walkFiles, plain, same } from "./support/walks.ts"
import * as WildSession from "./support/wildSession.ts"

const { assistant, entry, ids, user } = samples

const forkHeader: SessionFork.ForkHeader = {
  id: "fork",
  timestamp: samples.timestamp,
  cwd: "/elsewhere",
  parentSession: "/old.jsonl"
}

const textOf = (session: Session.Session | undefined): string =>
  session === undefined ? "" : Buffer.from(Session.toBytes(session)).toString()

const label = (id: string, parentId: string | null, targetId: string, text?: string): JsonObject =>
  entry("label", id, parentId, { targetId, label: text })

/** The members of the header that Pi wrote. */
const headerOf = (manager: PiModule.PiSessionManager): SessionFork.ForkHeader => {
  const header = manager.getHeader()
  return {
    id: header?.id ?? "",
    timestamp: header?.timestamp ?? "",
    cwd: header?.cwd ?? "",
    ...(header?.parentSession === undefined ? {} : { parentSession: header.parentSession })
  }
}

/** The file that Pi writes, with derived ids in place of its random ids of new labels. */
const forkedText = (
  manager: PiModule.PiSessionManager,
  ours: Session.Session | undefined,
  known: ReadonlySet<string>
): string => {
  const ourEntries = ours?.tree.getEntries() ?? []
  const rename = new Map<string, string>()
  for (const [at, { id }] of manager.getEntries().entries()) {
    if (!known.has(id)) rename.set(id, ourEntries[at]?.id ?? "")
  }
  const entries = manager.getEntries().map((entry): Json => plain(entry, rename))
  return [manager.getHeader(), ...entries].map((line) => `${JSON.stringify(line)}\n`).join("")
}

/** Whether 0.78 keeps the history: it loses that before a label inside the path. */
const isWholeIn078 = (path: ReadonlyArray<SessionEntry>): boolean => {
  const lastSpoken = path.findLastIndex(({ type }) => type !== "label")
  return path[0]?.parentId === null && path.slice(0, Math.max(0, lastSpoken)).every(({ type }) => type !== "label")
}

describe.each(PiVersion.versions)("SessionFork.branch of walks of Pi %s", (version) => {
  it.effect(
    "writes what createBranchedSession writes",
    Effect.fnUntraced(function* () {
      const count = settings.walks(20)
      const dir = yield* temporaryFolder
      for (const piVersion of PiVersion.versions) {
        const pi = yield* Effect.promise(() => PiModule.load(piVersion))
        let compared = 0
        for (const { name, path, session, random } of yield* walkFiles(version, count)) {
          const entries = session.tree.getEntries()
          const known = new Set(ids(entries).flatMap((id) => id ?? []))
          for (let sample = 0; sample < 4; sample++) {
            const leafId = entries[random.int(entries.length)]?.id ?? ""
            if (piVersion === "0.78" && !isWholeIn078(session.tree.getBranch(leafId))) continue
            const manager = pi.SessionManager.open(path, dir)
            const written = manager.createBranchedSession(leafId)
            const ours = SessionFork.branch(session, leafId, headerOf(manager))
            const at = `${name}, forked by Pi ${piVersion} at ${leafId}`
            same(textOf(ours), forkedText(manager, ours, known), at)
            if (written !== undefined && Fs.existsSync(written)) {
              const bare = (text: string): string =>
                text.replaceAll(/"id":"[0-9a-f]{8}"|"parentId":"[0-9a-f]{8}"/gu, "")
              same(bare(textOf(ours)), bare(Fs.readFileSync(written, "utf8")), `${at}: the file`)
            }
            compared++
          }
        }
        if (settings.isMany(count)) assert.isAtLeast(compared, count)
        settings.note(`SessionFork: ${compared} branches of walks of Pi ${version} forked as by Pi ${piVersion}`)
      }
    })
  )

  it.effect(
    "keeps the context of the branch",
    Effect.fnUntraced(function* () {
      for (const { name, session, random } of yield* walkFiles(version, settings.walks(20))) {
        const entries = session.tree.getEntries()
        for (let sample = 0; sample < 4; sample++) {
          const leafId = entries[random.int(entries.length)]?.id ?? ""
          const fork = SessionFork.branch(session, leafId, forkHeader)
          const before = session.tree.branch(leafId)
          assert.isTrue(fork !== undefined && before !== undefined, name)
          if (fork === undefined || before === undefined) continue
          for (const profile of PiVersion.versions) {
            const at = `${name}, at ${leafId}, context of ${profile}`
            same(plain(SessionContext.build(fork.tree, profile)), plain(SessionContext.build(before, profile)), at)
          }
          assert.isEmpty(fork.diagnostics, name)
          same(textOf(Session.readText(textOf(fork))), textOf(fork), name)
        }
      }
    })
  )
})

describe("SessionFork.branch", () => {
  const source = samples.session(
    user("a", null),
    label("l1", "a", "a", "start"),
    label("l2", "l1", "c", "first"),
    assistant("b", "l2"),
    entry("compaction", "c", "b", { summary: "s", firstKeptEntryId: "l1", tokensBefore: 1 }),
    user("d", "c"),
    assistant("e", "d"),
    label("l3", "e", "d", "gone"),
    label("l4", "l3", "a", "begin"),
    label("l5", "l4", "d"),
    user("f", "b")
  )

  it("links entries after labels to the entries before them, and adds the labels at the end", () => {
    const fork = SessionFork.branch(source, "e", forkHeader)
    const entries = fork?.tree.getEntries() ?? []
    assert.deepStrictEqual(ids(entries).slice(0, 5), ["a", "b", "c", "d", "e"])
    assert.deepStrictEqual(
      entries.slice(0, 5).map(({ parentId }) => parentId),
      [null, "a", "b", "c", "d"]
    )
    const [first, second] = ids(entries).slice(5)
    assert.deepStrictEqual(
      entries.slice(5).map((label) => label.decode()),
      [label(first ?? "", "e", "a", "begin"), label(second ?? "", first ?? "", "c", "first")]
    )
    assert.strictEqual(fork?.tree.leafId, second)
  })

  it("keeps a compaction's boundary that was a label", () => {
    const fork = SessionFork.branch(source, "e", forkHeader)
    assert.deepInclude(fork?.tree.getEntry("c")?.decode(), { parentId: "b", firstKeptEntryId: "b" })
    assert.deepStrictEqual(fork && SessionContext.project(fork.tree.getBranch("e")).map(({ entry }) => entry.id), [
      "c",
      "b",
      "d",
      "e"
    ])
  })

  it("keeps the boundary of a compaction that keeps nothing", () => {
    const none = samples.session(
      user("a", null),
      label("l", "a", "a", "x"),
      entry("compaction", "c", "l", { summary: "s", firstKeptEntryId: "c" })
    )
    const fork = SessionFork.branch(none, "c", forkHeader)
    assert.deepInclude(fork?.tree.getEntry("c")?.decode(), { parentId: "a", firstKeptEntryId: "c" })
  })

  it("keeps the bytes of entries that do not change, unknown fields included", () => {
    const odd = `{ "type":"custom", "id":"x", "parentId":null, "odd":[1.0, "\\u0041"] }`
    const fork = SessionFork.branch(samples.session(odd, user("y", "x")), "y", forkHeader)
    assert.deepStrictEqual(
      fork?.lines.map((line) => line.text),
      [
        '{"type":"session","version":3,"id":"fork","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/elsewhere","parentSession":"/old.jsonl"}',
        odd,
        JSON.stringify(user("y", "x"))
      ]
    )
  })

  it("is empty where there is no such entry", () => {
    assert.isUndefined(SessionFork.branch(source, "unknown", forkHeader))
  })

  it("gives the same bytes each time and leaves its source as it is", () => {
    const before = textOf(source)
    assert.strictEqual(
      textOf(SessionFork.branch(source, "e", forkHeader)),
      textOf(SessionFork.branch(source, "e", forkHeader))
    )
    assert.strictEqual(textOf(source), before)
  })

  it("gives each entry of glued and unfinished lines its own line", () => {
    const [one, two, three] = [user("a", null), assistant("b", "a"), user("c", "b")].map((it) => JSON.stringify(it))
    const glued = Session.readText(`${samples.text(samples.header, `${one}${two}`, label("l", "b", "a", "x"))}${three}`)
    const fork = SessionFork.branch(glued, "b", forkHeader)
    assert.deepStrictEqual(textOf(fork).split("\n").slice(1, 3), [one, two])
    const again = Session.readText(textOf(SessionFork.branch(glued, "c", forkHeader)))
    assert.isEmpty(again.diagnostics)
    assert.deepStrictEqual(ids(again.tree.getEntries()).slice(0, 3), ["a", "b", "c"])
    assert.strictEqual(again.tree.label("a"), "x")
    assert.isEmpty(
      SessionFork.branch(glued, "c", forkHeader)
        ?.tree.getEntries()
        .filter(({ recovered }) => recovered)
    )
  })

  it("migrates an old session first", () => {
    const old = Session.readText(samples.text({ type: "session", id: "s" }, { type: "custom", customType: "x" }))
    const fork = SessionFork.branch(old, SessionFork.whole(old, forkHeader).tree.leafId ?? "", forkHeader)
    assert.strictEqual(fork?.header?.decode()["version"], 3)
    assert.lengthOf(fork?.tree.getEntries() ?? [], 1)
  })
})

describe.each(PiVersion.versions)("SessionFork.whole, beside forkFrom of Pi %s", (version) => {
  it.effect(
    "writes the same bytes for random walks",
    Effect.fnUntraced(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const dir = yield* temporaryFolder
      let compared = 0
      for (const walked of PiVersion.versions) {
        for (const { name, path, session } of yield* walkFiles(walked, settings.walks(10))) {
          const manager = pi.SessionManager.forkFrom(path, "/elsewhere", dir)
          const written = Fs.readFileSync(manager.getSessionFile() ?? "", "utf8")
          same(textOf(SessionFork.whole(session, headerOf(manager))), written, name)
          compared++
        }
      }
      assert.isAbove(compared, 0)
    })
  )

  it.effect(
    "keeps the entries that Pi keeps of files that no Pi wrote",
    Effect.fnUntraced(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const dir = yield* temporaryFolder
      const path = Path.join(dir, "wild.jsonl")
      let compared = 0
      for (const seed of settings.seeds(settings.walks(20))) {
        const text = WildSession.make(SeededRandom.make(seed), 3)
        Fs.writeFileSync(path, text)
        const manager = pi.SessionManager.forkFrom(path, "/elsewhere", dir)
        const ours = SessionFork.whole(Session.asPiReads(Session.readText(text)), headerOf(manager))
        same(
          ours.tree.getEntries().map((entry) => entry.decode()),
          plain(manager.getEntries()),
          `seed ${seed}`
        )
        compared++
      }
      assert.isAbove(compared, 0)
    })
  )
})

describe("SessionFork.whole", () => {
  it("migrates an old session, whose history Pi's fork loses", () => {
    const old = Session.readText(
      samples.text(
        { type: "session", id: "s" },
        { type: "message", timestamp: samples.timestamp, message: { role: "user", content: "hello" } },
        { type: "message", timestamp: samples.timestamp, message: { role: "user", content: "again" } }
      )
    )
    const fork = SessionFork.whole(old, forkHeader)
    assert.lengthOf(fork.tree.getBranch(), 2)
    assert.lengthOf(SessionContext.build(fork.tree).messages, 2)
  })

  it("gives each entry of glued and unfinished lines its own line", () => {
    const [one, two, three] = [user("a", null), assistant("b", "a"), user("c", "b")].map((it) => JSON.stringify(it))
    const glued = Session.readText(`${samples.text(samples.header, `${one}${two}`)}${three}`)
    const fork = textOf(SessionFork.whole(glued, forkHeader))
    assert.deepStrictEqual(fork.split("\n").slice(1), [one, two, three, ""])
  })
})

describe("a fork of a hydrated session", () => {
  it("keeps `hydratedFrom` of its source", () => {
    const hydratedFrom = { threadId: "th_1", mode: "semantic" }
    const source = Session.readText(
      [
        { type: "session", version: 3, id: "s", cwd: "/x", hydratedFrom },
        { type: "message", id: "u", parentId: null, message: { role: "user", content: "hi" } }
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join("")
    )
    const header = { id: "f", timestamp: "2026-05-31T10:00:00.000Z", cwd: "/x" }
    for (const forked of [SessionFork.whole(source, header), SessionFork.branch(source, "u", header)]) {
      assert.deepStrictEqual(forked?.header?.decode()["hydratedFrom"], hydratedFrom)
    }
  })
})
