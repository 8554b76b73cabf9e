/** Compares a session as a real Pi and this library read it. */
import { assert } from "@effect/vitest"
import type * as PiModule from "@pi-sessions/testing/pi/PiModule"
import type * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Json, isObject } from "../../src/Json.ts"
import * as ModelContext from "../../src/ModelContext.ts"
import * as Session from "../../src/Session.ts"
import * as SessionContext from "../../src/SessionContext.ts"
import * as SessionMigration from "../../src/SessionMigration.ts"
import { type SessionTree, type TreeNode } from "../../src/SessionTree.ts"
import * as TreeNavigation from "../../src/TreeNavigation.ts"
import { plain, same } from "./walks.ts"

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

/** A session as read by a real Pi and by this library. */
export interface Pair {
  readonly name: string
  readonly pi: PiModule.PiModule
  readonly manager: PiModule.PiSessionManager
  readonly session: Session.Session
  readonly random: SeededRandom.SeededRandom
  /** The number of random entries to which the leaf is moved. */
  readonly samples: number
}

/** Compares leaf, branch and context at the leaf. */
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

/** Compares the path from one leaf to another. */
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

/** Compares entries, tree, labels, branches and contexts. */
export const compare = (pair: Pair): void => {
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

/** The session as Pi reads it, in the current version. */
export const asPiHasIt = (session: Session.Session): Session.Session =>
  SessionMigration.toCurrent(Session.asPiReads(session))

/**
 * Compares where ids may be missing or of any type: entries, the context at the end of the file, and branch and context at
 * each entry that Pi can go to. Entries are compared by place, because ids may be missing.
 */
export const comparePlaces = ({ name, pi, manager, session, random, samples }: Pair): void => {
  const profile = pi.version
  const { tree } = session
  const all = manager.getEntries()
  // Pi reads other values as entries without links and content.
  const theirs = all.filter((entry) => isObject(plain(entry)))
  const ours = tree.getEntries()
  same(
    ours.map((entry) => entry.decode()),
    theirs.map((entry) => plain(entry)),
    `${name}: entries`
  )
  const places = (entries: ReadonlyArray<PiModule.PiEntry>) => entries.map((entry) => theirs.indexOf(entry))
  const compareContext = (at: SessionTree, where: string): void => {
    const theirContext = manager.buildSessionContext()
    const ourContext = SessionContext.build(at, profile)
    same(plain(ourContext), plain(theirContext), `${where}: context`)
    same(
      plain(ModelContext.convertToLlm(ourContext.messages, profile)),
      plain(pi.convertToLlm(theirContext.messages)),
      `${where}: convertToLlm`
    )
  }
  compareContext(tree, name)
  same(
    tree.getBranch(undefined, profile).map((entry) => ours.indexOf(entry)),
    places(pathToEnd(manager, all)),
    `${name}: path`
  )
  for (let sample = 0; sample < samples; sample++) {
    const index = random.int(theirs.length)
    const id: Json | undefined = theirs[index]?.id
    // Pi cannot move to these.
    if (!id || typeof id === "object") continue
    const where = `${name}, at ${index}`
    const last = theirs.findLastIndex((entry) => entry.id === id)
    const entry = ours[last]
    const branch = entry === undefined ? [] : tree.branchTo(entry)
    same(
      branch.map((one) => ours.indexOf(one)),
      places(manager.getBranch(id)),
      `${where}: branch`
    )
    manager.branch(id)
    const moved = tree.branch(entry?.id ?? "")
    assert.isDefined(moved, where)
    if (moved !== undefined) compareContext(moved, where)
  }
}

/** The path of Pi's context, also where the leaf has no id and `getBranch` is empty. */
const pathToEnd = (
  manager: PiModule.PiSessionManager,
  entries: ReadonlyArray<PiModule.PiEntry>
): ReadonlyArray<PiModule.PiEntry> => {
  const last = entries.at(-1)
  if (manager.getLeafId() === null || last === undefined || !isObject(plain(last))) return []
  if (manager.getLeafId()) return manager.getBranch()
  return [...(last.parentId ? manager.getBranch(last.parentId) : []), last]
}
