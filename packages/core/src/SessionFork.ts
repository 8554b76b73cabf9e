/**
 * Makes new sessions from old ones. `branch` is Pi's `createBranchedSession` (`/fork`, `/clone`): the path from the root
 * to an entry. `whole` is `--fork`: every entry under a new header.
 *
 * `branch` follows 1.5.2, which links entries after a removed label to the entry before it. 0.78.0 leaves them without a
 * parent, which loses the history before them. Both give the same result where the path has no label.
 */
import * as EntryId from "./EntryId.ts"
import { type Json, type JsonObject } from "./Json.ts"
import * as Session from "./Session.ts"
import { CURRENT_VERSION } from "./SessionHeader.ts"
import { HeaderLine, SessionEntry } from "./SessionLine.ts"
import * as SessionMigration from "./SessionMigration.ts"
import { type SessionTree } from "./SessionTree.ts"

/** Members of the new header, in Pi's order. */
export interface ForkHeader {
  readonly id: string
  /** ISO 8601. */
  readonly timestamp: string
  readonly cwd: string
  /** Path of the source's file. */
  readonly parentSession?: string
}

/** Keeps `hydratedFrom`: a fork of a hydrated session has the same entries. */
const headerOf = (source: Session.Session, header: ForkHeader): HeaderLine => {
  const { id, timestamp, cwd, parentSession } = header
  const hydratedFrom = source.header?.decode()["hydratedFrom"]
  return HeaderLine.make({ type: "session", version: CURRENT_VERSION, id, timestamp, cwd, parentSession, hydratedFrom })
}

/**
 * The branch that ends at `leafId` (default: the leaf) as a session. Labels move to its end, and entries that referred to
 * a label refer to the entry after it. An entry without an id gets one. Undefined when there is no such entry.
 */
export const branch = (
  source: Session.Session,
  leafId: string | undefined,
  header: ForkHeader
): Session.Session | undefined => {
  const tree = SessionMigration.toCurrent(source).tree
  const path = tree.getBranch(leafId)
  if (path.length === 0) return undefined

  const kept: Array<SessionEntry> = []
  const replacementByLabelId = new Map<string, Json | undefined>()
  let pendingLabels: Array<string> = []
  for (const entry of path) {
    if (entry.type === "label") {
      if (entry.id !== null) pendingLabels.push(entry.id)
      continue
    }
    for (const labelId of pendingLabels) replacementByLabelId.set(labelId, entry.idValue)
    pendingLabels = []
    const chained = rechain(entry, kept.at(-1), replacementByLabelId)
    kept.push(chained.id === null ? named(chained, tree, header) : chained)
  }

  const ids = new Set(kept.flatMap((entry) => entry.id ?? []))
  let parentId = kept.at(-1)?.idValue ?? null
  const labels: Array<SessionEntry> = []
  for (const [target, { label, timestamp }] of tree.labels()) {
    if (!ids.has(target)) continue
    const id = EntryId.derive(ids, header.id, "label", target)
    const targetId = tree.getEntry(target)?.idValue
    labels.push(SessionEntry.make({ type: "label", id, parentId, timestamp, targetId, label }))
    ids.add(id)
    parentId = id
  }
  return Session.fromLines([headerOf(source, header), ...kept, ...labels])
}

/** Every entry of the session under a new header. A session of version 1 or 2 is migrated first. */
export const whole = (source: Session.Session, header: ForkHeader): Session.Session =>
  Session.fromLines([
    headerOf(source, header),
    ...SessionMigration.toCurrent(source)
      .tree.getEntries()
      .map((entry) => entry.standalone())
  ])

/** The entry with its new parent; the same bytes when nothing changes. */
const rechain = (
  entry: SessionEntry,
  parent: SessionEntry | undefined,
  replacementByLabelId: ReadonlyMap<string, Json | undefined>
): SessionEntry => {
  const parentId = parent?.idValue ?? null
  if (entry.type === "compaction") {
    const payload: JsonObject = entry.decode()
    const moved = replacementByLabelId.get(EntryId.read(payload["firstKeptEntryId"]) ?? "")
    if (moved !== undefined) return entry.rewrite({ ...payload, parentId, firstKeptEntryId: moved })
  }
  const follows = entry.parentId === (parent?.id ?? null)
  return follows ? entry.standalone() : entry.rewrite({ ...entry.decode(), parentId })
}

/** Gives the entry an id: no entry can follow one without an id. */
const named = (entry: SessionEntry, tree: SessionTree, header: ForkHeader): SessionEntry => {
  const taken = { has: (id: string) => tree.getEntry(id) !== undefined }
  return entry.rewrite({ ...entry.decode(), id: EntryId.derive(taken, header.id, "entry", entry.bytes) })
}
