/** Moves in the tree, beside both real Pis. */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type JsonObject } from "../src/Json.ts"
import { type SessionEntry } from "../src/SessionLine.ts"
import { type SessionTree } from "../src/SessionTree.ts"
import * as TreeNavigation from "../src/TreeNavigation.ts"
import * as piNavigation from "./support/piNavigation.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"
import { files as walkFiles, plain, same, timeless } from "./support/walks.ts"

const { assistant, entry, ids, session, user } = samples

const stamp: TreeNavigation.Stamp = { timestamp: samples.timestamp, seed: "test" }

const payloads = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<JsonObject> =>
  entries.map((entry) => entry.decode())

/** A copy of a walk's file: moves append to it. */
const copyOf = (dir: string, path: string): string => {
  const copy = Path.join(dir, "copy.jsonl")
  Fs.copyFileSync(path, copy)
  return copy
}

describe.each(PiVersion.versions)("TreeNavigation, beside Pi %s", (version) => {
  it.effect(
    "prepares and makes moves, with the events of navigateTree",
    Effect.fnUntraced(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const navigate = yield* Effect.promise(() => piNavigation.load(version))
      const dir = yield* temporaryFolder
      let moves = 0
      for (const { name, path, session, random } of yield* walkFiles(version, settings.walks(20))) {
        const manager = pi.SessionManager.open(copyOf(dir, path))
        const rename = new Map(manager.getEntries().map(({ id }) => [id, id]))
        let tree: SessionTree = session.tree
        for (let move = 0; move < 6; move++) {
          const before = manager.getEntries()
          const target = before[random.int(before.length)]
          // Pi throws where the parent of a user's message is unknown.
          if (target === undefined || (target.parentId !== null && !rename.has(target.parentId))) continue
          const at = `${name}, move ${move} to ${target.id}`
          const options: piNavigation.NavigateOptions = {
            summarize: random.chance(0.5),
            ...(random.chance(0.3) ? { label: random.chance(0.8) ? "here" : "" } : {}),
            ...(random.chance(0.3) ? { customInstructions: "short", replaceInstructions: random.chance(0.5) } : {})
          }
          const summary = { summary: random.chance(0.9) ? "what happened" : "", details: { readFiles: [`${move}`] } }
          const { events, editorText } = yield* Effect.promise(() => navigate(manager, target.id, options, summary))

          const preparation = TreeNavigation.prepare(tree, rename.get(target.id) ?? "", options)
          assert.isDefined(preparation, at)
          if (preparation === undefined) continue
          const { tree: moved, ...ours } = TreeNavigation.navigate(
            tree,
            preparation,
            { ...stamp, seed: `${move}` },
            options.summarize === true ? { ...summary, fromExtension: true } : undefined,
            version
          )
          const added = manager.getEntries().slice(before.length)
          for (const [place, { id }] of added.entries()) rename.set(id, ours.appended[place]?.id ?? "")
          same(timeless(plain(payloads(ours.appended))), timeless(plain(added, rename)), `${at}: appended`)
          const leafId = manager.getLeafId()
          same(moved.leafId, leafId === null ? null : rename.get(leafId), `${at}: leaf`)
          same(ours.editorText, editorText, `${at}: editor`)
          const ourEvents = [
            {
              type: "session_before_tree",
              preparation: { ...preparation, entriesToSummarize: payloads(preparation.entriesToSummarize) },
              signal: {}
            },
            { type: "session_tree", ...ours.event, summaryEntry: ours.event.summaryEntry?.decode() }
          ]
          // Pi announces nothing when it is there already.
          const expected = preparation.targetId === preparation.oldLeafId ? [] : ourEvents
          same(timeless(plain(expected)), timeless(plain(events, rename)), `${at}: events`)
          tree = moved
          moves++
        }
      }
      assert.isAbove(moves, 0)
      settings.note(`TreeNavigation: ${moves} moves in walks of Pi ${version} as Pi makes them`)
    })
  )

  it.effect(
    "branchWithSummary writes the entry that Pi writes",
    Effect.fnUntraced(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const dir = yield* temporaryFolder
      for (const { name, path, session, random } of yield* walkFiles(version, settings.walks(20))) {
        const entries = session.tree.getEntries()
        const details = random.chance(0.5) ? { readFiles: ["a"], modifiedFiles: [] } : undefined
        const fromHook = random.chance(0.5)
        const usage = version === "1.5" && random.chance(0.5) ? { input: 1 } : undefined
        for (const targetId of [null, entries[random.int(entries.length)]?.id ?? null]) {
          const manager = pi.SessionManager.open(copyOf(dir, path))
          const startId = entries[random.int(entries.length)]?.id ?? ""
          if (random.chance(0.2)) manager.resetLeaf()
          else manager.branch(startId)
          const tree = manager.getLeafId() === null ? session.tree.resetLeaf() : session.tree.branch(startId)
          assert.isDefined(tree, name)
          if (tree === undefined) continue
          const id = manager.branchWithSummary(targetId, "the summary", details, fromHook, usage)
          const summary = {
            summary: "the summary",
            fromExtension: fromHook,
            ...(details === undefined ? {} : { details }),
            ...(usage === undefined ? {} : { usage })
          }
          const ours = TreeNavigation.branchWithSummary(tree, targetId, summary, stamp, version)
          // As text, to compare the order of the keys.
          const theirs = { ...manager.getEntry(id), id: ours.entry.id, timestamp: stamp.timestamp }
          assert.strictEqual(ours.entry.text, JSON.stringify(theirs), name)
          assert.strictEqual(ours.tree.leafId, ours.entry.id, name)
          assert.deepStrictEqual(ids(ours.tree.getBranch()).slice(0, -1), ids(session.tree.branchAt(targetId)), name)
        }
      }
    })
  )

  it.effect(
    "labelEntry writes the entry that Pi writes",
    Effect.fnUntraced(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const dir = yield* temporaryFolder
      for (const { name, path, session } of yield* walkFiles(version, settings.walks(10))) {
        for (const label of ["x", "", undefined]) {
          const manager = pi.SessionManager.open(copyOf(dir, path))
          const targetId = session.tree.getEntries()[0]?.id ?? ""
          const id = manager.appendLabelChange(targetId, label)
          const ours = TreeNavigation.labelEntry(session.tree, targetId, label, stamp)
          const theirs = { ...manager.getEntry(id), id: ours.id, timestamp: stamp.timestamp }
          assert.strictEqual(ours.text, JSON.stringify(theirs), name)
          assert.strictEqual(session.tree.append([ours]).leafId, ours.id, name)
        }
      }
    })
  )
})

describe("prepare", () => {
  const { tree } = session(user("a", null), assistant("b", "a"), user("c", "b"), assistant("d", "c"), user("e", "b"))

  it("lists the entries of the old branch, oldest first", () => {
    const at = tree.branch("d")
    assert.deepStrictEqual(at && TreeNavigation.prepare(at, "e", { summarize: true, label: "x" }), {
      targetId: "e",
      oldLeafId: "d",
      commonAncestorId: "b",
      entriesToSummarize: ["c", "d"].flatMap((id) => tree.getEntry(id) ?? []),
      userWantsSummary: true,
      customInstructions: undefined,
      replaceInstructions: undefined,
      label: "x"
    })
  })

  it("summarizes nothing on the way down, and all entries below the target on the way up", () => {
    const up = TreeNavigation.prepare(tree, "a")
    assert.deepStrictEqual([up?.commonAncestorId, ids(up?.entriesToSummarize ?? [])], ["a", ["b", "e"]])
    const down = TreeNavigation.prepare(tree.resetLeaf(), "d")
    assert.deepStrictEqual([down?.oldLeafId, down?.commonAncestorId, down?.entriesToSummarize], [null, null, []])
  })

  it("is empty where there is no such entry", () => {
    assert.isUndefined(TreeNavigation.prepare(tree, "unknown"))
  })
})

describe("navigate", () => {
  const { tree } = session(
    user("a", null, "first question"),
    assistant("b", "a"),
    samples.message("c", "b", {
      role: "user",
      content: [
        { type: "text", text: "second " },
        { type: "image", data: "aW1n", mimeType: "image/png" },
        { type: "text", text: "question" }
      ]
    }),
    assistant("d", "c"),
    entry("custom_message", "n", "d", { customType: "note", content: "a note", display: true }),
    user("o", "nowhere", "orphan")
  )

  const go = (targetId: string, label?: string, summary?: TreeNavigation.Summary, profile?: PiVersion.PiVersion) => {
    const start = tree.branch("d") ?? tree
    const preparation = TreeNavigation.prepare(start, targetId, label === undefined ? {} : { label })
    if (preparation === undefined) throw new Error(`no entry ${targetId}`)
    return TreeNavigation.navigate(start, preparation, stamp, summary, profile)
  }

  it("edits a user's message: the leaf is its parent", () => {
    const { tree: moved, editorText, event, appended } = go("c")
    assert.deepStrictEqual([moved.leafId, editorText, appended], ["b", "second question", []])
    assert.deepStrictEqual(event, {
      oldLeafId: "d",
      newLeafId: "b",
      summaryEntry: undefined,
      fromExtension: undefined
    })
  })

  it("edits the first message before the first entry", () => {
    const { tree: moved, editorText } = go("a")
    assert.deepStrictEqual([moved.leafId, editorText, moved.getBranch()], [null, "first question", []])
  })

  it("edits a custom message too", () => {
    const { tree: moved, editorText } = go("n")
    assert.deepStrictEqual([moved.leafId, editorText], ["d", "a note"])
  })

  it("edits a message with an unknown parent before the first entry", () => {
    const { tree: moved, editorText } = go("o")
    assert.deepStrictEqual([moved.leafId, editorText], [null, "orphan"])
  })

  it("makes any other entry the leaf", () => {
    const { tree: moved, editorText } = go("b")
    assert.deepStrictEqual([moved.leafId, editorText], ["b", undefined])
  })

  it("does nothing when the target is the leaf", () => {
    const { tree: moved, appended, event } = go("d", "label", { summary: "s" })
    assert.deepStrictEqual([moved.leafId, appended, event.newLeafId], ["d", [], "d"])
  })

  it("adds a summary after the new leaf, and the label on the summary", () => {
    const { tree: moved, appended, event } = go("c", "way back", { summary: "s", details: { readFiles: [] } })
    const [summary, label] = appended
    assert.deepStrictEqual(summary?.decode(), {
      type: "branch_summary",
      id: summary?.id ?? "",
      parentId: "b",
      timestamp: stamp.timestamp,
      fromId: "d",
      summary: "s",
      details: { readFiles: [] },
      fromHook: false
    })
    assert.deepInclude(label?.decode(), { parentId: summary?.id, targetId: summary?.id, label: "way back" })
    assert.deepStrictEqual(
      [moved.leafId, event.newLeafId, event.summaryEntry, event.fromExtension],
      [label?.id, label?.id, summary, false]
    )
    assert.strictEqual(moved.label(summary?.id ?? ""), "way back")
  })

  it("puts the label on the target when there is no summary", () => {
    const { tree: moved, appended } = go("b", "checkpoint")
    assert.deepStrictEqual(
      appended.map((label) => label.decode()["targetId"]),
      ["b"]
    )
    assert.strictEqual(moved.label("b"), "checkpoint")
    assert.deepStrictEqual(ids(moved.getBranch()), ["a", "b", appended[0]?.id ?? null])
    assert.isEmpty(go("b", "").appended)
  })

  it("refers to the target in 0.78 and to the old leaf in 1.5", () => {
    const fromId = (profile: PiVersion.PiVersion, targetId: string) =>
      go(targetId, undefined, { summary: "s" }, profile).appended[0]?.decode()["fromId"]
    assert.deepStrictEqual(
      [fromId("0.78", "b"), fromId("1.5", "b"), fromId("0.78", "a"), fromId("1.5", "a")],
      ["b", "d", "root", "d"]
    )
  })

  it("gives the same ids each time, other ones for another seed, and never one that is taken", () => {
    const at = (seed: string) => TreeNavigation.labelEntry(tree, "a", "x", { ...stamp, seed }).id
    assert.strictEqual(at("1"), at("1"))
    assert.notStrictEqual(at("1"), at("2"))
    const taken = tree.append([TreeNavigation.labelEntry(tree, "a", "x", stamp)])
    assert.notStrictEqual(TreeNavigation.labelEntry(taken, "a", "x", stamp).id, taken.leafId)
  })

  it("does not change the old tree", () => {
    const before = tree.branch("d")
    go("a", "x", { summary: "s" })
    assert.deepStrictEqual([before?.leafId, tree.getEntries().length, tree.label("a")], ["d", 6, undefined])
  })
})
