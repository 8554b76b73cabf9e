import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as Session from "@pi-sessions/core/Session"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as TerminalText from "../src/TerminalText.ts"
import * as TreeDrawing from "../src/TreeDrawing.ts"
import * as randomTree from "./support/randomTree.ts"
import * as samples from "./support/samples.ts"
import { walked } from "./support/walks.ts"

const TREES = Dose.of("PI_SESSIONS_TREES", { test: 100, campaign: 2000 })

const drawn = (tree: SessionTree, options?: TreeDrawing.TreeDrawingOptions): ReadonlyArray<string> =>
  [...TreeDrawing.draw(tree, options)].map(TreeDrawing.textOf)

const treeOf = (fixture: string): SessionTree => SessionMigration.toCurrent(samples.fixture(fixture)).tree

describe("a drawing of a fixture", () => {
  it("shows branches, labels, branch summaries and the leaf, and folds the rest", () => {
    assert.deepStrictEqual(drawn(treeOf("sessions/project/branches.jsonl")), [
      '┆ 0b85e246…bf4e470d 3 entries: 2 setting, 1 user  "Which test framework should we use?"',
      '● f6041296 assistant  "Either jest or vitest."  2 branches',
      '├─┆ bb384783…5096bf2a 3 entries: 1 user, 1 assistant, 1 tool  "Use jest."',
      '│ ● 76a86388 assistant  [jest way]  "jest is in."',
      '│ ● 5f275f0c label "jest way" on 76a86388',
      '● 80d44d90 branch summary from 5f275f0c  "jest was tried; it added 270 packages."',
      '┆ a88fc4a0…11559baa 2 entries: 1 user, 1 assistant  "Use vitest instead."',
      "◉ 5e0c754d custom durable-todo-ledger  <- leaf"
    ])
  })

  it("shows compactions", () => {
    assert.deepStrictEqual(drawn(treeOf("sessions/project/compacted.jsonl")), [
      '┆ 33e8e885…028f1218 6 entries: 2 user, 3 assistant, 1 tool  "Read the whole changelog."',
      '● cd67fbcc compaction 51,234 tokens before, kept from aa7ec0bd  "The changelog lists one release, 1.0."',
      '● 01435e9b user  "Who wrote it?"',
      '◉ 2ad43dcc assistant  "The file does not say."  <- leaf'
    ])
  })

  it("has a line for each entry with `all`, is ASCII with `ascii`, and fits `columns`", () => {
    const tree = treeOf("sessions/project/branches.jsonl")
    assert.deepStrictEqual(drawn(tree, { all: true, ascii: true, columns: 44 }), [
      "* 0b85e246 model fake/fake-1",
      "* 4f78d407 thinking level medium",
      '* bf4e470d user  "Which test framework s..."',
      '* f6041296 assistant  "Eithe..."  2 branches',
      '|-* bb384783 user  "Use jest."',
      '| * 3ea1953f assistant  "Installing jest."',
      '| * 5096bf2a tool result bash  "added 27..."',
      '| * 76a86388 assistant  [jest way]  "jes..."',
      '| * 5f275f0c label "jest way" on 76a86388',
      "* 80d44d90 branch summary from 5f275f0c",
      '* a88fc4a0 user  "Use vitest instead."',
      '* 11559baa assistant  "vitest is in; one..."',
      "@ 5e0c754d custom durable-todo-ledger  <-..."
    ])
  })

  it("draws in ASCII only, also where it cuts", () => {
    const long = "word ".repeat(100)
    const { tree } = samples.session(
      samples.user("a", null, long),
      samples.entry("label", "b", "a", { targetId: "a", label: long }),
      samples.user("c", "a", long)
    )
    for (const options of [{}, { all: true }, { columns: 40 }]) {
      for (const line of drawn(tree, { ...options, ascii: true })) assert.match(line, /^[ -~]*$/)
    }
    assert.include(drawn(tree, { ascii: true })[0], 'word wo..."')
  })

  it("marks damage", () => {
    assert.deepStrictEqual(drawn(treeOf("damaged/cycle.jsonl")), [
      '● u1 user  "hello"  ! the parents of this entry lead back to it; it is taken for a root (Pi would not end)',
      '┆ a1…u2 2 entries: 1 assistant, 1 user  "round and round"',
      '◉ a2 assistant  "we go"  <- leaf'
    ])
    assert.deepStrictEqual(drawn(treeOf("damaged/unknown-parent.jsonl")), [
      '● u1 user  "lost to Pi"  a beginning',
      '● a1 assistant  "lost too"',
      '● u2 user  "hello"  ! parentId "gone" names no entry; history before this one is cut off',
      '◉ a2 assistant  "hi"  <- leaf'
    ])
    assert.deepStrictEqual(drawn(treeOf("damaged/duplicate-id.jsonl")), [
      '● u1 user  "hello"',
      '◉ a1 assistant  "second answer with the same id"  <- leaf; ! id "a1" was used on line 3; this one is in the tree',
      '✗ a1 assistant  "first answer"  ! not in the tree: its id is used again further down (line 3)'
    ])
  })
})

/** The parent of each entry, read from the rails of a drawing. */
const parentsIn = (lines: ReadonlyArray<TreeDrawing.DrawnLine>): ReadonlyMap<string, string | null> => {
  const parents = new Map<string, string | null>()
  /** Last entry drawn in each column. */
  const last: Array<string | undefined> = []
  for (const { entries, note, rail } of lines) {
    if (note.includes("not in the tree")) continue
    const column = Math.floor((rail.length - 1) / 2)
    const isBeginning = column === 0 && (note.includes("a beginning") || /is cut off|taken for a root/.test(note))
    const above = isBeginning ? undefined : rail.includes("├─") ? last[column - 1] : last[column]
    let parent = above ?? null
    for (const { id } of entries) {
      if (id === null) continue
      parents.set(id, parent)
      parent = id
    }
    last[column] = parent ?? undefined
  }
  return parents
}

/** Checks a session's drawings; returns the number of its entries. */
const check = (name: string, session: Session.Session): number => {
  const { tree } = SessionMigration.toCurrent(session)
  const inTree = tree.getEntries().filter(({ id }, at) => id !== null && tree.getEntry(id) === tree.getEntries()[at])
  for (const options of [{}, { all: true }]) {
    const lines = [...TreeDrawing.draw(tree, options)]
    const shown = lines.flatMap(({ entries }) => entries)
    assert.strictEqual(new Set(shown).size, shown.length, `${name}: no entry twice`)
    assert.strictEqual(shown.length, tree.getEntries().length, `${name}: every entry`)

    const parents = parentsIn(lines)
    for (const entry of inTree) {
      const { id } = entry
      if (id === null) continue
      const parent = tree.getBranch(id).at(-2)
      assert.strictEqual(parents.get(id), parent?.id ?? null, `${name}: the parent of ${id}`)
    }

    const alone = new Map(
      lines.flatMap((line) => (line.entries.length === 1 ? [[line.entries[0], line] as const] : []))
    )
    for (const entry of inTree) {
      const isOnTheWay = tree.children(entry.id ?? "").length === 1
      if (isOnTheWay && entry.id !== tree.leafId) continue
      const line = alone.get(entry)
      assert.include(line?.name ?? "", TerminalText.line(entry.id ?? ""), `${name}: ${entry.id} has its own line`)
      if (entry.id === tree.leafId) assert.include(line?.note ?? "", "<- leaf", name)
    }
    const active = new Set(tree.getBranch())
    for (const { active: isActive, entries } of lines) {
      for (const entry of entries) assert.strictEqual(isActive, active.has(entry), name)
    }
  }
  for (const columns of [10, 30, 79]) {
    for (const line of drawn(tree, { columns, all: columns > 30 })) {
      assert.isAtMost(TerminalText.width(line), columns, `${name}: ${line}`)
    }
  }
  return tree.getEntries().length
}

describe("a drawing", () => {
  it("shows the parent of every entry, for random and damaged trees", () => {
    let entries = 0
    for (let seed = 1; seed <= TREES; seed++) {
      entries += check(`seed ${seed}`, randomTree.make(SeededRandom.make(seed), seed % 2 === 0))
    }
    assert.isAbove(entries, 10 * TREES)
  })

  it("shows the parent of every entry, for all fixtures", () => {
    const checked = samples.fixtures().map(([name, session]) => check(name, session))
    assert.isAbove(checked.length, 20)
  })

  it.effect(
    "shows the parent of every entry, for walks through both Pis",
    Effect.fnUntraced(function* () {
      const checked = (yield* walked).map(({ name, session }) => check(name, session))
      assert.isAbove(checked.length, 1)
    })
  )

  it("is safe for terminals", () => {
    const evil = "\u001b[2J\u0000\u202e\n\t\r\u009b31m"
    const { tree } = samples.session(
      samples.user(`a${evil}`, null, `${evil}${"x".repeat(1 << 20)}`),
      samples.entry(`t${evil}`, "b", `a${evil}`),
      samples.entry("label", "c", "b", { targetId: `a${evil}`, label: evil }),
      samples.user("d", `gone${evil}`, evil)
    )
    for (const line of [...drawn(tree), ...drawn(tree, { columns: 50 })]) {
      assert.notMatch(line, /\p{Cc}|\p{Bidi_Control}/u)
      assert.isBelow(line.length, 1000)
    }
  })
})

describe("a drawing of a long session", () => {
  const count = Dose.of("PI_SESSIONS_BENCH_ENTRIES", { test: 10_000, campaign: 100_000 })
  const shapes: { readonly [name: string]: (at: number, random: SeededRandom.SeededRandom) => number } = {
    "one branch": (at) => at - 1,
    "a branch at every second entry": (at) => (at % 2 === 0 ? at - 2 : at - 1),
    "all children of one": () => 0,
    random: (at, random) => random.int(at)
  }

  it.each(Object.keys(shapes))("decodes an entry at most twice and is indented logarithmically: %s", (shape) => {
    const random = SeededRandom.make(5)
    const entries = Array.from({ length: count }, (_, at) => {
      const parent = at === 0 ? undefined : shapes[shape]?.(at, random)
      return SessionEntry.make({
        type: "message",
        ...samples.user(`e${at}`, parent === undefined ? null : `e${parent}`)
      })
    })
    const { tree } = Session.fromLines(entries)
    const decode = vi.spyOn(SessionEntry.prototype, "decode")
    try {
      let drawnEntries = 0
      let column = 0
      for (const line of TreeDrawing.draw(tree, { columns: 100 })) {
        drawnEntries += line.entries.length
        column = Math.max(column, (line.rail.length - 1) / 2)
      }
      assert.strictEqual(drawnEntries, count)
      assert.isAtMost(decode.mock.calls.length, 2 * count)
      assert.isAtMost(column, Math.log2(count) + 1)
    } finally {
      decode.mockRestore()
    }
  })
})
