/** `pi-sessions tree`: drawing and JSON. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call } from "./support/callCli.ts"
import { branches, fixtures } from "./support/storeFolder.ts"

const tree = (...args: ReadonlyArray<string>) => call(["tree", ...args], fixtures)

describe("pi-sessions tree", () => {
  it.live("draws the branches under the session's id and directory", () =>
    Effect.gen(function* () {
      const run = yield* tree(branches)
      assert.deepStrictEqual(
        [run.status, run.stderr, run.stdout.split("\n")],
        [
          0,
          "",
          [
            "01a1fb8b-2f4a-753e-9222-6a16c79b2aa7  /home/dev/work/app",
            '┆ 0b85e246…bf4e470d 3 entries: 2 setting, 1 user  "Which test framework should we use?"',
            '● f6041296 assistant  "Either jest or vitest."  2 branches',
            '├─┆ bb384783…5096bf2a 3 entries: 1 user, 1 assistant, 1 tool  "Use jest."',
            '│ ● 76a86388 assistant  [jest way]  "jest is in."',
            '│ ● 5f275f0c label "jest way" on 76a86388',
            '● 80d44d90 branch summary from 5f275f0c  "jest was tried; it added 270 packages."',
            '┆ a88fc4a0…11559baa 2 entries: 1 user, 1 assistant  "Use vitest instead."',
            "◉ 5e0c754d custom durable-todo-ledger  <- leaf",
            ""
          ]
        ]
      )
    })
  )

  it.live("draws every entry with ASCII, cut to --width", () =>
    Effect.gen(function* () {
      const { stdout } = yield* tree(branches, "--ascii", "--all", "--width", "36")
      const lines = stdout.trimEnd().split("\n")
      assert.lengthOf(lines, 14)
      assert.strictEqual(lines[5], '|-* bb384783 user  "Use jest."')
      for (const line of lines.slice(1)) {
        assert.isAtMost(line.length, 36)
        assert.match(line, /^[ -~]*$/)
      }
    })
  )

  it.live("warns of damage on stderr", () =>
    Effect.gen(function* () {
      const run = yield* tree("damaged/cycle.jsonl")
      assert.strictEqual(run.status, 0)
      assert.include(run.stdout, "! the parents of this entry lead back to it")
      assert.match(run.stderr, /^warning: the file is damaged \(1 finding\); see pi-sessions doctor .*cycle\.jsonl\n$/)
    })
  )

  it.live("prints one flat document with --json", () =>
    Effect.gen(function* () {
      const document = JSON.parse((yield* tree(branches, "--json")).stdout)
      assert.deepInclude(document, {
        path: branches,
        name: null,
        leafId: "5e0c754d",
        roots: ["0b85e246"],
        leaves: ["5f275f0c", "5e0c754d"],
        branchPoints: [{ id: "f6041296", children: ["bb384783", "80d44d90"] }],
        diagnostics: []
      })
      assert.lengthOf(document.entries, 13)
      assert.deepStrictEqual(document.entries[7], {
        id: "76a86388",
        parentId: "5096bf2a",
        type: "message",
        role: "assistant",
        timestamp: "2026-11-21T00:39:25.259Z",
        label: "jest way",
        line: 9,
        active: false,
        inTree: true
      })
    })
  )
})
