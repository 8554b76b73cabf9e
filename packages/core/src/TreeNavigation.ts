/**
 * Pi's `/tree` (`AgentSession.navigateTree` of 0.78.0 and 1.5.2) as pure functions: its move of the leaf, the entries that
 * it adds, and its events for extensions. Nothing is written; the added entries are returned with the new tree.
 */
import * as EntryId from "./EntryId.ts"
import { type Json, objectAt } from "./Json.ts"
import { contentText } from "./ModelContext.ts"
import { type PiProfile, newest } from "./PiProfile.ts"
import { SessionEntry } from "./SessionLine.ts"
import { type SessionTree } from "./SessionTree.ts"

/** The event `session_before_tree` for extensions. */
export interface TreePreparation {
  readonly targetId: string
  readonly oldLeafId: string | null
  readonly commonAncestorId: string | null
  /** From below the common ancestor to the old leaf. */
  readonly entriesToSummarize: ReadonlyArray<SessionEntry>
  readonly userWantsSummary: boolean
  readonly customInstructions: string | undefined
  readonly replaceInstructions: boolean | undefined
  readonly label: string | undefined
}

/** The event `session_tree` for extensions, after the move. */
export interface SessionTreeEvent {
  readonly oldLeafId: string | null
  readonly newLeafId: string | null
  readonly summaryEntry: SessionEntry | undefined
  /** Whether the summary came from an extension; undefined without a summary. */
  readonly fromExtension: boolean | undefined
}

/** A summary of the branch that is left. */
export interface Summary {
  readonly summary: string
  readonly details?: Json
  /** 1.5 */
  readonly usage?: Json
  readonly fromExtension?: boolean
}

/** Time of new entries, and the input from which their ids are derived. */
export interface Stamp {
  /** ISO 8601. */
  readonly timestamp: string
  readonly seed: string
}

export interface Navigation {
  readonly tree: SessionTree
  readonly event: SessionTreeEvent
  /** New entries at the end of the file: the summary, then the label. */
  readonly appended: ReadonlyArray<SessionEntry>
  /** Text of the message that the user edits again; undefined for other entries. */
  readonly editorText: string | undefined
}

/** Prepares a move to `targetId`; undefined when there is no such entry. */
export const prepare = (
  tree: SessionTree,
  targetId: string,
  options: {
    readonly summarize?: boolean
    readonly customInstructions?: string
    readonly replaceInstructions?: boolean
    readonly label?: string
  } = {}
): TreePreparation | undefined => {
  if (tree.getEntry(targetId) === undefined) return undefined
  const { commonAncestor, up } = tree.pathBetween(tree.leafId, targetId)
  return {
    targetId,
    oldLeafId: tree.leafId,
    commonAncestorId: commonAncestor?.id ?? null,
    entriesToSummarize: up.toReversed(),
    userWantsSummary: options.summarize ?? false,
    customInstructions: options.customInstructions,
    replaceInstructions: options.replaceInstructions,
    label: options.label
  }
}

/**
 * Makes the move. A user or custom message is edited again: its parent becomes the leaf. A summary follows the new leaf;
 * the label is set on the summary, or on the target when there is no summary.
 */
export const navigate = (
  tree: SessionTree,
  preparation: TreePreparation,
  stamp: Stamp,
  summary?: Summary,
  profile: PiProfile = newest
): Navigation => {
  const { targetId, oldLeafId, label } = preparation
  const target = tree.getEntry(targetId)
  const unchanged = { oldLeafId, newLeafId: oldLeafId, summaryEntry: undefined, fromExtension: undefined }
  if (target === undefined || targetId === oldLeafId) {
    return { tree, event: unchanged, appended: [], editorText: undefined }
  }
  const isEdited = target.role === "user" || target.type === "custom_message"
  const newLeafId = isEdited ? target.parentId : targetId
  let moved: SessionTree
  let summaryEntry: SessionEntry | undefined
  const appended: Array<SessionEntry> = []
  if (summary !== undefined && summary.summary !== "") {
    const branched = branchWithSummary(tree, newLeafId, { fromExtension: false, ...summary }, stamp, profile)
    moved = branched.tree
    summaryEntry = branched.entry
    appended.push(branched.entry)
  } else {
    moved = newLeafId === null ? tree.resetLeaf() : (tree.branch(newLeafId) ?? tree.resetLeaf())
  }
  if (label !== undefined && label !== "") {
    const entry = labelEntry(moved, summaryEntry?.id ?? targetId, label, stamp)
    moved = moved.append([entry])
    appended.push(entry)
  }
  return {
    tree: moved,
    event: {
      oldLeafId,
      newLeafId: moved.leafId,
      summaryEntry,
      fromExtension: summaryEntry === undefined ? undefined : (summary?.fromExtension ?? false)
    },
    appended,
    editorText: isEdited ? textOf(target) : undefined
  }
}

/**
 * Moves the leaf to `branchFromId` (null: before the first entry) and appends a summary of the old branch. The entry's
 * `fromId` is the target in 0.78 and the old leaf in 1.5 (since 0.84.3); "root" for null.
 */
export const branchWithSummary = (
  tree: SessionTree,
  branchFromId: string | null,
  summary: Summary,
  stamp: Stamp,
  profile: PiProfile = newest
): { readonly tree: SessionTree; readonly entry: SessionEntry } => {
  const parentId = branchFromId === null ? null : (tree.getEntry(branchFromId)?.idValue ?? branchFromId)
  const fromId = (profile === "0.78" ? parentId : tree.getLeafEntry()?.idValue) ?? "root"
  const id = newId(tree, stamp, "branch_summary")
  const { timestamp } = stamp
  const { details, usage, fromExtension } = summary
  const common = { type: "branch_summary", id, parentId, timestamp, fromId, summary: summary.summary }
  const entry = SessionEntry.make(
    profile === "0.78"
      ? { ...common, details, fromHook: fromExtension }
      : { ...common, details, usage, fromHook: fromExtension }
  )
  return { tree: tree.append([entry]), entry }
}

/** An entry after the leaf that sets the label of `targetId`; undefined clears it. */
export const labelEntry = (
  tree: SessionTree,
  targetId: string,
  label: string | undefined,
  stamp: Stamp
): SessionEntry => {
  const id = newId(tree, stamp, "label")
  const parentId = tree.getLeafEntry()?.idValue ?? null
  const target = tree.getEntry(targetId)?.idValue ?? targetId
  return SessionEntry.make({ type: "label", id, parentId, timestamp: stamp.timestamp, targetId: target, label })
}

const newId = (tree: SessionTree, stamp: Stamp, kind: string): string =>
  EntryId.derive(
    { has: (id) => tree.getEntry(id) !== undefined },
    stamp.seed,
    stamp.timestamp,
    kind,
    String(tree.getEntries().length)
  )

/** The text of a user or custom message in Pi's editor. */
const textOf = (entry: SessionEntry): string => {
  const payload = entry.decode()
  return contentText(entry.type === "message" ? objectAt(payload, "message")?.["content"] : payload["content"], "")
}
