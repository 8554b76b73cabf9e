/** Pi's five filters. The oracle is the tree navigator of the real Pis. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Url from "node:url"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type TreeNode } from "@pi-sessions/core/SessionTree"
import * as EntryFilter from "../src/EntryFilter.ts"
import * as samples from "./support/samples.ts"
import { walked } from "./support/walks.ts"

interface Navigator {
  readonly getTreeList: () => {
    readonly filteredNodes: ReadonlyArray<{ readonly node: { readonly entry: { readonly id: string } } }>
  }
}
type Navigators = new (
  tree: ReadonlyArray<unknown>,
  leafId: string | null,
  height: number,
  onSelect: () => void,
  onCancel: () => void,
  onLabel: undefined,
  selected: undefined,
  filter: string
) => Navigator

/** Pi exports the navigator to its extensions. */
const navigatorOf = async (version: PiVersion.PiVersion): Promise<Navigators> => {
  await PiModule.load(version)
  const exports: object = await import(Url.pathToFileURL(PiVersion.indexPath(version)).href)
  Reflect.get(exports, "initTheme")("dark")
  return Reflect.get(exports, "TreeSelectorComponent")
}

const toPi = ({ children, entry, label }: TreeNode): object => ({
  entry: entry.decode(),
  children: children.map(toPi),
  ...(label === undefined ? {} : { label })
})

const listedByPi = (Navigator: Navigators, { tree }: Session.Session, filter: string): ReadonlyArray<string> =>
  new Navigator(
    tree.toNodes().map(toPi),
    tree.leafId,
    40,
    () => {},
    () => {},
    undefined,
    undefined,
    filter
  )
    .getTreeList()
    .filteredNodes.map(({ node }) => node.entry.id)
    .sort()

const listed = ({ tree }: Session.Session, filter: EntryFilter.EntryFilter): ReadonlyArray<string> => {
  const facts: EntryFilter.FilterFacts = {
    isLabeled: ({ id }) => id !== null && tree.label(id) !== undefined,
    isOnlyCalls: (entry: SessionEntry) => EntryFilter.onlyCalls(entry.decode()),
    leaf: tree.getLeafEntry()
  }
  return tree
    .getEntries()
    .filter((entry) => EntryFilter.lists(filter, entry, facts))
    .flatMap(({ id }) => id ?? [])
    .sort()
}

const { assistant, entry, message, session, user } = samples
const call = { type: "toolCall", id: "c", name: "bash", arguments: {} }
const odd = session(
  user("u", null),
  assistant("calls", "u", [call], { stopReason: "toolUse" }),
  message("result", "calls", { role: "toolResult", toolCallId: "c", toolName: "bash", content: [] }),
  assistant("blank", "result", [{ type: "text", text: " \n" }, call]),
  assistant("failed", "blank", [], { stopReason: "error" }),
  assistant("broken off", "failed", [], { stopReason: "aborted" }),
  assistant("thought", "broken off", [{ type: "thinking", thinking: "hm" }]),
  assistant("said", "thought", [{ type: "text", text: "x" }, call]),
  entry("label", "l1", "said", { targetId: "calls", label: "here" }),
  entry("label", "l2", "l1", { targetId: "said", label: "there" }),
  entry("custom", "state", "l2", { customType: "x", data: {} }),
  entry("custom_message", "shown", "state", { customType: "x", content: "y", display: true }),
  entry("model_change", "model", "shown", { provider: "p", modelId: "m" }),
  entry("thinking_level_change", "level", "model", { thinkingLevel: "high" }),
  entry("session_info", "name", "level", { name: "n" }),
  entry("compaction", "compaction", "name", { summary: "s", firstKeptEntryId: "u", tokensBefore: 1 }),
  entry("branch_summary", "summary", "compaction", { fromId: "u", summary: "s" }),
  assistant("leaf", "summary", [call], { stopReason: "toolUse" })
)
const new15 = session(
  user("u", null),
  entry("usage", "usage", "u", { kind: "k", provider: "p", model: "m", usage: {} }),
  entry("context_edit", "edit", "usage", { targetId: "u", replacement: null }),
  assistant("a", "edit")
)

describe("the filters of Pi's tree", () => {
  it.effect("list the same entries as the navigators of both Pis", () =>
    Effect.gen(function* () {
      const walks = yield* walked
      for (const version of PiVersion.versions) {
        const Navigator = yield* Effect.promise(() => navigatorOf(version))
        const ofVersion = walks.filter(({ name }) => name.startsWith(`Pi ${version}`))
        const sessions = [odd, ...(version === "1.5" ? [new15] : []), ...ofVersion.map((walk) => walk.session)]
        assert.isAbove(sessions.length, 5)
        for (const one of sessions) {
          for (const filter of EntryFilter.EntryFilter.literals) {
            assert.deepStrictEqual(listed(one, filter), listedByPi(Navigator, one, filter), `Pi ${version}, ${filter}`)
          }
        }
      }
    })
  )
})
