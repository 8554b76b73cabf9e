/**
 * The real Pis as oracles: on files that they wrote themselves, our tree, branches, labels and contexts are theirs.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/PiModule"
import * as PiVersion from "@pi-sessions/testing/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as ModelContext from "../src/ModelContext.ts"
import * as Session from "../src/Session.ts"
import * as SessionContext from "../src/SessionContext.ts"
import * as SessionMigration from "../src/SessionMigration.ts"
import { type SessionTree, type TreeNode } from "../src/SessionTree.ts"
import * as TreeNavigation from "../src/TreeNavigation.ts"
import * as files from "./support/files.ts"
import * as settings from "./support/settings.ts"
import * as WildSession from "./support/wildSession.ts"
import { files as walkFiles, pis, plain, same } from "./support/walks.ts"

type Row = readonly [depth: number, id: string | null, label: string | undefined, labelTimestamp: string | undefined]

interface Node<N> {
  readonly entry: { readonly id: string | null }
  readonly children: ReadonlyArray<N>
  readonly label?: string | undefined
  readonly labelTimestamp?: string | undefined
}

/** A forest as rows in the order in which it would be printed. */
const rows = <N extends Node<N>>(roots: ReadonlyArray<N>, rename?: ReadonlyMap<string, string>): ReadonlyArray<Row> => {
  const found: Array<Row> = []
  const stack = roots.map((node) => ({ node, depth: 0 })).reverse()
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { node, depth } = top
    const { id } = node.entry
    found.push([depth, rename?.get(id ?? "") ?? id, node.label, node.labelTimestamp])
    for (const child of node.children.toReversed()) stack.push({ node: child, depth: depth + 1 })
  }
  return found
}

const ids = (entries: ReadonlyArray<{ readonly id: string | null }>): ReadonlyArray<string | null> =>
  entries.map(({ id }) => id)

/** A session as one of the real Pis and we have it. */
interface Pair {
  readonly name: string
  readonly pi: PiModule.PiModule
  readonly manager: PiModule.PiSessionManager
  readonly session: Session.Session
  readonly random: SeededRandom.SeededRandom
  /** How many entries to look at from. */
  readonly samples: number
}

/** Compares leaf, branch and context where the leaf is. */
const compareAtLeaf = ({ pi, manager }: Pair, tree: SessionTree, rename: Map<string, string>, name: string): void => {
  const profile = pi.version
  const leafId = manager.getLeafId()
  same(tree.leafId, leafId === null ? null : rename.get(leafId), `${name}: leaf`)
  same(
    ids(tree.getBranch()),
    ids(manager.getBranch()).map((id) => rename.get(id ?? "")),
    `${name}: branch`
  )
  const theirs = manager.buildSessionContext()
  const ours = SessionContext.build(tree, profile)
  same(plain(ours), plain(theirs, rename), `${name}: context`)
  same(
    plain(ModelContext.convertToLlm(ours.messages, profile)),
    plain(pi.convertToLlm(theirs.messages), rename),
    `${name}: convertToLlm`
  )
}

/** Compares the way from one leaf to another. */
const comparePath = (
  { pi, manager }: Pair,
  tree: SessionTree,
  rename: Map<string, string>,
  [from, to]: readonly [PiModule.PiEntry | null, PiModule.PiEntry],
  name: string
): void => {
  const theirs = pi.collectEntriesForBranchSummary(manager, from?.id ?? null, to.id)
  const ourFrom = from === null ? null : (rename.get(from.id) ?? null)
  const ourTo = rename.get(to.id) ?? ""
  const commonAncestorId = theirs.commonAncestorId === null ? null : (rename.get(theirs.commonAncestorId) ?? null)
  same(tree.commonAncestor(ourFrom, ourTo)?.id ?? null, commonAncestorId, `${name}: common ancestor`)
  const at = ourFrom === null ? tree.resetLeaf() : tree.branch(ourFrom)
  const prepared = at === undefined ? undefined : TreeNavigation.prepare(at, ourTo)
  same(prepared?.commonAncestorId, commonAncestorId, `${name}: prepared common ancestor`)
  same(
    ids(prepared?.entriesToSummarize ?? []),
    theirs.entries.map(({ id }) => rename.get(id)),
    `${name}: entries to summarize`
  )
}

/** Compares everything Pi says of a session. */
const compare = (pair: Pair): void => {
  const { name, manager, session, random } = pair
  const { tree } = session
  const theirs = manager.getEntries()
  const ours = tree.getEntries()
  same(ours.length, theirs.length, `${name}: number of entries`)
  const rename = new Map(theirs.map(({ id }, at) => [id, ours[at]?.id ?? ""]))
  same(
    ours.map((entry) => entry.decode()),
    plain(theirs, rename),
    `${name}: entries`
  )
  same(tree.name(), manager.getSessionName(), `${name}: name`)
  const isUnique = rename.size === ours.length
  if (isUnique) {
    const nodes: ReadonlyArray<TreeNode> = tree.toNodes()
    same(rows(nodes), rows(manager.getTree(), rename), `${name}: tree`)
  }
  compareAtLeaf(pair, tree, rename, name)

  let previous: PiModule.PiEntry | null = null
  for (let sample = 0; sample < pair.samples; sample++) {
    const target = theirs[random.int(theirs.length)]
    if (target === undefined) break
    const ourId = rename.get(target.id) ?? ""
    const at = `${name}, at ${target.id}`
    same(
      ids(tree.getBranch(ourId)),
      ids(manager.getBranch(target.id)).map((id) => rename.get(id ?? "")),
      `${at}: branch`
    )
    same(tree.label(ourId), manager.getLabel(target.id), `${at}: label`)
    same(tree.getEntry(ourId)?.decode(), plain(manager.getEntry(target.id), rename), `${at}: entry`)
    if (isUnique) {
      const children = manager.getChildren(target.id).map(({ id }) => rename.get(id))
      same(ids(tree.children(ourId)), children, `${at}: children`)
    }
    manager.branch(target.id)
    const moved = tree.branch(ourId)
    assert.isDefined(moved, at)
    if (moved !== undefined) compareAtLeaf(pair, moved, rename, `${at}, moved there`)
    comparePath(pair, tree, rename, [previous, target], `${at}, coming from ${previous?.id ?? "nowhere"}`)
    previous = target
  }
  manager.resetLeaf()
  compareAtLeaf(pair, tree.resetLeaf(), rename, `${name}, reset`)
}

/** What Pi gets to see of a session, in the current version. */
const asPiHasIt = (session: Session.Session): Session.Session => SessionMigration.toCurrent(Session.asPiReads(session))

describe.each(PiVersion.versions)("random walks of Pi %s", (version) => {
  it.effect(
    "are read by us as by both real Pis",
    Effect.fnUntraced(function* () {
      const count = settings.walks(200)
      const found = yield* walkFiles(version, count)
      for (const pi of yield* pis) {
        let compared = 0
        for (const { name, path, session, random } of found) {
          const manager = pi.SessionManager.open(path)
          compare({ name: `${name}, read by Pi ${pi.version}`, pi, manager, session, random, samples: 6 })
          compared++
        }
        assert.isAtLeast(compared, count)
        settings.note(
          `PiAgreement: ${compared} sessions of ${count} walks of Pi ${version} agree with Pi ${pi.version}`
        )
      }
    }),
    settings.patience
  )

  it.effect(
    "hold every kind of entry that Pi writes",
    Effect.fnUntraced(function* () {
      const sessions = (yield* walkFiles(version, 60)).map(({ session }) => session)
      const entries = sessions.flatMap(({ tree }) => tree.getEntries())
      const types = new Set(entries.map(({ type }) => type))
      const roles = new Set(entries.flatMap(({ role }) => role ?? []))
      const newer = version === "0.78" ? [] : ["usage", "context_edit"]
      assert.sameMembers(
        [...types],
        [
          "message",
          "thinking_level_change",
          "model_change",
          "compaction",
          "branch_summary",
          "custom",
          "custom_message",
          "label",
          "session_info",
          ...newer
        ]
      )
      assert.sameMembers(
        [...roles],
        ["user", "assistant", "toolResult", "bashExecution", ...(version === "0.78" ? [] : ["system"])]
      )
      // What 0.78 forks behind a label has lost its parent.
      const codes = new Set(sessions.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code)))
      assert.deepStrictEqual([...codes], version === "0.78" ? ["unknown-parent"] : [])
    }),
    60_000
  )
})

describe.each(PiVersion.versions)("files that no Pi wrote, read by Pi %s", (version) => {
  it.effect.each([1, 2, 3, undefined] as const)(
    "are read by us in the same way, in version %s of the format",
    Effect.fnUntraced(function* (formatVersion) {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const path = Path.join(yield* temporaryFolder, "wild.jsonl")
      const count = settings.walks(200)
      for (const seed of settings.seeds(count)) {
        const random = SeededRandom.make(seed)
        const text = WildSession.make(random, formatVersion)
        Fs.writeFileSync(path, text)
        const manager = pi.SessionManager.open(path)
        const session = asPiHasIt(Session.readText(text))
        compare({ name: `Pi ${version}, seed ${seed}`, pi, manager, session, random, samples: 6 })
      }
      assert.isTrue(Fs.existsSync(path))
      settings.note(
        `PiAgreement: ${count} made-up sessions of version ${formatVersion ?? "none"} agree with Pi ${version}`
      )
    }),
    settings.patience
  )
})

describe.each(PiVersion.versions)("the corpus, read by Pi %s", (version) => {
  it.effect(
    "is read by us in the same way",
    Effect.fnUntraced(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const dir = yield* temporaryFolder
      const paths = files.corpus()
      let compared = 0
      const passedOver: Array<string> = []
      for (const [at, path] of paths.entries()) {
        const session = Session.read(Fs.readFileSync(path))
        const asPi = Session.asPiReads(session)
        const trouble = session.diagnostics.find(({ code }) =>
          ["cycle", "not-an-object", "missing-type", "missing-id", "header-not-first", "bom"].includes(code)
        )
        if (asPi.header === undefined || trouble !== undefined) {
          passedOver.push(`${path}: ${trouble?.code ?? "missing-header"}`)
          continue
        }
        // Pi rewrites old sessions in place.
        const copy = Path.join(dir, `${at}.jsonl`)
        Fs.copyFileSync(path, copy)
        const manager = pi.SessionManager.open(copy)
        const random = SeededRandom.make(settings.firstSeed + at)
        const samples = asPi.lines.length > 2000 ? 4 : 20
        compare({ name: path, pi, manager, session: asPiHasIt(session), random, samples })
        Fs.rmSync(copy)
        compared++
      }
      assert.strictEqual(compared + passedOver.length, paths.length)
      if (paths.length > 0) {
        settings.note(`PiAgreement: ${compared} sessions of the corpus agree with Pi ${version}`)
        for (const reason of passedOver) settings.note(`PiAgreement: passed over ${reason}`)
      }
    }),
    1_200_000
  )
})
