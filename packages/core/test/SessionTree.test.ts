/** Branches, leaves, labels and damage of the tree. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type JsonObject } from "../src/Json.ts"
import * as Session from "../src/Session.ts"
import { SessionEntry } from "../src/SessionLine.ts"
import { SessionTree, type TreeNode } from "../src/SessionTree.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"

const { assistant, entry, ids, places, session, user } = samples

/**
 *     a - b - c - d
 *          \- e - f
 *     g
 */
const { tree } = session(
  user("a", null),
  assistant("b", "a"),
  user("c", "b"),
  assistant("d", "c"),
  user("e", "b"),
  assistant("f", "e"),
  user("g", null)
)

const at = (tree: SessionTree, id: string): SessionTree => {
  const moved = tree.branch(id)
  if (moved === undefined) throw new Error(`no entry ${id}`)
  return moved
}

const nodeIds = (nodes: ReadonlyArray<TreeNode>): ReadonlyArray<unknown> =>
  nodes.map(({ entry, children }) => (children.length === 0 ? entry.id : [entry.id, ...nodeIds(children)]))

describe("SessionTree", () => {
  it("has its leaf at the last entry of the file, whatever its type", () => {
    assert.strictEqual(tree.leafId, "g")
    const labelled = session(user("a", null), entry("label", "l", "a", { targetId: "a", label: "x" }))
    assert.strictEqual(labelled.tree.leafId, "l")
    assert.strictEqual(labelled.tree.getLeafEntry()?.type, "label")
    assert.strictEqual(session(user("a", null), entry("from the future", "z", "a")).tree.leafId, "z")
    assert.isNull(session().tree.leafId)
    assert.isUndefined(session().tree.getLeafEntry())
  })

  it("gives the branch of any entry", () => {
    assert.deepStrictEqual(ids(tree.getBranch("d")), ["a", "b", "c", "d"])
    assert.deepStrictEqual(ids(tree.getBranch("f")), ["a", "b", "e", "f"])
    assert.deepStrictEqual(ids(tree.getBranch()), ["g"])
    assert.deepStrictEqual(tree.getBranch("unknown"), [])
    assert.deepStrictEqual(tree.branchAt(null), [])
  })

  it("has roots, children and leaves in file order", () => {
    assert.deepStrictEqual(ids(tree.roots()), ["a", "g"])
    assert.deepStrictEqual(ids(tree.children("b")), ["c", "e"])
    assert.deepStrictEqual(ids(tree.children("d")), [])
    assert.deepStrictEqual(ids(tree.children("unknown")), [])
    assert.deepStrictEqual(ids(tree.leaves()), ["d", "f", "g"])
  })

  it("finds the deepest entry that two branches share", () => {
    assert.strictEqual(tree.commonAncestor("d", "f")?.id, "b")
    assert.strictEqual(tree.commonAncestor("d", "b")?.id, "b")
    assert.strictEqual(tree.commonAncestor("d", "d")?.id, "d")
    assert.isNull(tree.commonAncestor("d", "g"))
    assert.isNull(tree.commonAncestor(null, "d"))
    assert.isNull(tree.commonAncestor("d", "unknown"))
  })

  it("gives the path from one leaf to another", () => {
    const { commonAncestor, up, down } = tree.pathBetween("d", "f")
    assert.deepStrictEqual([commonAncestor?.id, ids(up), ids(down)], ["b", ["d", "c"], ["e", "f"]])
    const fromNowhere = tree.pathBetween(null, "b")
    assert.deepStrictEqual([fromNowhere.commonAncestor, fromNowhere.up, ids(fromNowhere.down)], [null, [], ["a", "b"]])
    const back = tree.pathBetween("d", null)
    assert.deepStrictEqual([back.commonAncestor, ids(back.up), back.down], [null, ["d", "c", "b", "a"], []])
  })

  it("is immutable: moves and appends return new trees", () => {
    const moved = at(tree, "c")
    const reset = tree.resetLeaf()
    const added = moved.append([SessionEntry.make(user("h", moved.leafId))])
    assert.deepStrictEqual(
      [tree, moved, reset, added].map(({ leafId }) => leafId),
      ["g", "c", null, "h"]
    )
    assert.deepStrictEqual(ids(added.getBranch()), ["a", "b", "c", "h"])
    assert.deepStrictEqual(ids(tree.children("c")), ["d"])
    assert.lengthOf(tree.getEntries(), 7)
    assert.strictEqual(moved.append([]), moved)
    assert.isUndefined(tree.branch("unknown"))
  })

  it("starts a new root after the leaf was reset", () => {
    const reset = tree.resetLeaf()
    const added = reset.append([SessionEntry.make(user("h", reset.leafId))])
    assert.deepStrictEqual(ids(added.getBranch()), ["h"])
    assert.deepStrictEqual(ids(added.roots()), ["a", "g", "h"])
  })
})

describe("SessionTree.toNodes", () => {
  it("sorts children by their time, oldest first, and roots by their place in the file", () => {
    const { tree } = session(
      user("a", null),
      { ...user("late", "a"), timestamp: "2026-01-05T10:00:02.000Z" },
      { ...user("early", "a"), timestamp: "2026-01-05T10:00:01.000Z" },
      { ...user("as early", "a"), timestamp: "2026-01-05T10:00:01.000Z" },
      { ...user("below", "early"), timestamp: "2026-01-05T10:00:00.000Z" },
      { ...user("root", null), timestamp: "2025-01-05T10:00:00.000Z" }
    )
    assert.deepStrictEqual(nodeIds(tree.toNodes()), [["a", ["early", "below"], "as early", "late"], "root"])
  })

  it("has labels and their times", () => {
    const { tree } = session(user("a", null), entry("label", "l", "a", { targetId: "a", label: "x" }))
    const [root] = tree.toNodes()
    assert.deepStrictEqual([root?.label, root?.labelTimestamp], ["x", samples.timestamp])
    assert.deepStrictEqual([root?.children[0]?.label, root?.children[0]?.labelTimestamp], [undefined, undefined])
  })

  it("reads a branch of 50,000 entries", () => {
    const entries = Array.from({ length: 50_000 }, (_, at) =>
      SessionEntry.make(user(`${at}`, at === 0 ? null : `${at - 1}`))
    )
    const tree = SessionTree.make(entries)
    assert.lengthOf(tree.getBranch(), 50_000)
    let depth = 0
    for (let node = tree.toNodes()[0]; node !== undefined; node = node.children[0]) depth++
    assert.strictEqual(depth, 50_000)
  })
})

describe("SessionTree.labels", () => {
  const label = (id: string, targetId: JsonObject[string], label?: JsonObject[string]): JsonObject =>
    entry("label", id, "a", { targetId, label })

  it("do not depend on the branch: the last one in file order counts, an empty one clears", () => {
    const { tree } = session(
      user("a", null),
      assistant("b", "a"),
      label("1", "a", "one"),
      label("2", "b", "two"),
      label("3", "a", "three"),
      label("4", "b", ""),
      label("5", "unknown", "dangling"),
      label("6", [7], "no target"),
      user("c", null)
    )
    assert.deepStrictEqual(
      [...tree.labels()].map(([id, { label }]) => [id, label]),
      [
        ["a", "three"],
        ["unknown", "dangling"]
      ]
    )
    assert.deepStrictEqual([tree.label("a"), at(tree, "c").label("a"), tree.label("b")], ["three", "three", undefined])
  })

  it("are cleared by a label entry without a label", () => {
    const { tree } = session(user("a", null), label("1", "a", "one"), label("2", "a"))
    assert.strictEqual(tree.labels().size, 0)
  })
})

describe("SessionTree.name", () => {
  const named = (...names: ReadonlyArray<string | undefined>) =>
    session(...names.map((name, at) => entry("session_info", `${at}`, null, { name }))).tree.name()

  it("is the last one given, trimmed", () => {
    assert.strictEqual(named("first", " second\t"), "second")
    assert.isUndefined(named())
  })

  it("is undefined after an empty one", () => {
    assert.isUndefined(named("first", ""))
    assert.isUndefined(named("first", "  "))
    assert.isUndefined(named("first", undefined))
  })
})

describe("a damaged SessionTree", () => {
  it("has the last of two entries with the same id", () => {
    const { tree, diagnostics } = session(user("a", null, "old"), user("b", "a"), user("a", null, "new"))
    assert.deepStrictEqual(
      places(diagnostics).map(([code, line]) => [code, line]),
      [["duplicate-id", 4]]
    )
    assert.lengthOf(tree.getEntries(), 3)
    assert.strictEqual(tree.getEntry("a"), tree.getEntries()[2])
    const [, second, third] = tree.getEntries()
    assert.isTrue(tree.getBranch("b")[0] === third && tree.getBranch("b")[1] === second)
    assert.deepStrictEqual(nodeIds(tree.toNodes()), [["a", "b"]])
    assert.deepStrictEqual(ids(tree.leaves()), ["b"])
  })

  it("makes an entry with an unknown parent a root", () => {
    const { tree, diagnostics } = session(user("a", "unknown"), user("b", "a"))
    assert.deepStrictEqual(
      diagnostics.map(({ code, entryId }) => [code, entryId]),
      [["unknown-parent", "a"]]
    )
    assert.deepStrictEqual(ids(tree.getBranch()), ["a", "b"])
    assert.deepStrictEqual(ids(tree.roots()), ["a"])
  })

  it("reads an empty parent as none", () => {
    const { tree, diagnostics } = session(user("a", ""))
    assert.deepStrictEqual([ids(tree.roots()), diagnostics], [["a"], []])
  })

  it("makes the earliest entry of each cycle a root, once", () => {
    const { tree, diagnostics } = session(
      user("a", "c"),
      user("b", "a"),
      user("c", "b"),
      user("d", "c"),
      user("self", "self"),
      user("f", "g"),
      user("g", "f"),
      user("h", null)
    )
    assert.deepStrictEqual(
      diagnostics.map(({ code, entryId }) => [code, entryId]),
      [
        ["cycle", "a"],
        ["cycle", "self"],
        ["cycle", "f"]
      ]
    )
    assert.deepStrictEqual(ids(tree.getBranch("d")), ["a", "b", "c", "d"])
    assert.deepStrictEqual(nodeIds(tree.toNodes()), [["a", ["b", ["c", "d"]]], "self", ["f", "g"], "h"])
  })

  it("makes the earliest entry of a cycle a root, also when a path leads into the cycle", () => {
    const { tree, diagnostics } = session(user("tail", "c"), user("a", "c"), user("b", "a"), user("c", "b"))
    assert.deepStrictEqual(
      diagnostics.map(({ code, entryId }) => [code, entryId]),
      [["cycle", "a"]]
    )
    assert.deepStrictEqual(ids(tree.getBranch("tail")), ["a", "b", "c", "tail"])
  })

  it("reports a cycle that a repeated id closes", () => {
    const { tree, diagnostics } = session(user("a", null), user("b", "a"), user("a", "b"))
    assert.deepStrictEqual(
      diagnostics.map(({ code, line }) => [code, line]),
      [
        ["cycle", 3],
        ["duplicate-id", 4]
      ]
    )
    assert.deepStrictEqual(ids(tree.getBranch()), ["b", "a"])
  })

  it("links an entry to a parent later in the file", () => {
    const { tree, diagnostics } = session(user("b", "a"), user("a", null))
    assert.isEmpty(diagnostics)
    assert.deepStrictEqual(ids(tree.getBranch("b")), ["a", "b"])
  })

  it("has a leaf without an id, and branches that end with one", () => {
    const { tree } = session(user("a", null), '{"type":"custom","parentId":"a"}')
    const [, last] = tree.getEntries()
    assert.strictEqual(tree.leafId, null)
    assert.strictEqual(tree.getLeafEntry(), last)
    assert.deepStrictEqual(ids(tree.getBranch()), ["a", null])
    assert.deepStrictEqual(ids(tree.leaves()), [null])
    assert.deepStrictEqual(ids(last === undefined ? [] : tree.branchTo(last)), ["a", null])
    assert.lengthOf(tree.toNodes(), 1)
  })

  it("always comes to an end, on any parents at all", () => {
    const count = settings.fuzz(2000)
    for (const seed of settings.seeds(count)) {
      const random = SeededRandom.make(seed)
      const size = 1 + random.int(12)
      const id = (): string => `${random.int(size)}`
      const { tree } = Session.fromLines(
        Array.from({ length: size }, (_, at) =>
          SessionEntry.make(user(random.chance(0.8) ? `${at}` : id(), random.chance(0.2) ? null : id()))
        )
      )
      const known = new Set(ids(tree.getEntries()))
      const inTree = new Set<string | null>()
      const stack = [...tree.toNodes()]
      for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
        assert.isFalse(inTree.has(node.entry.id), `seed ${seed}: ${node.entry.id} is twice in the tree`)
        inTree.add(node.entry.id)
        stack.push(...node.children)
      }
      assert.deepStrictEqual(inTree, known, `seed ${seed}: every id is in the tree`)
      for (const leaf of tree.leaves()) {
        const branch = tree.getBranch(leaf.id ?? "")
        assert.strictEqual(branch.at(-1), leaf, `seed ${seed}`)
        const parents = branch.slice(1).map(({ parentId }) => parentId)
        assert.deepStrictEqual(parents, ids(branch.slice(0, -1)), `seed ${seed}: a branch without gaps`)
      }
    }
    assert.isAtLeast(count, 0)
  })
})
