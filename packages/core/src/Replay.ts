/**
 * Rebuilds an extension's state from entries (docs/adr/002-durable-state-by-replay.md): same entries, same state.
 *
 * Two choices are independent. The source is which entries count: the current branch (state rewinds with `/tree`), the
 * whole session, or entries from elsewhere. The unit is what an entry holds: a snapshot of the whole state in a tool
 * result's details, or one event in a custom entry.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { objectAt, stringAt } from "./Json.ts"
import { type SessionEntry } from "./SessionLine.ts"
import { type SessionTree } from "./SessionTree.ts"

/** Which entries are replayed. */
export type Source =
  | { readonly _tag: "Branch"; readonly leafId?: string | null }
  | { readonly _tag: "Session" }
  | { readonly _tag: "External"; readonly entries: ReadonlyArray<SessionEntry> }

/** The entries from the root to the current leaf, or to `leafId` (null: none). */
export const branch = (leafId?: string | null): Source =>
  leafId === undefined ? { _tag: "Branch" } : { _tag: "Branch", leafId }

/** All entries of the session file, on every branch. A fork has only those that it copied. */
export const session: Source = { _tag: "Session" }

/** Entries kept outside the session, so that forks have them too. */
export const external = (entries: ReadonlyArray<SessionEntry>): Source => ({ _tag: "External", entries })

/** How an entry changes the state; other entries leave it unchanged. */
export interface Unit<S> {
  readonly step: (state: S, entry: SessionEntry) => S
}

/** Each result of tool `toolName` holds the whole state in `details`; details that do not fit the schema are ignored. */
export const snapshot = <S>(toolName: string, schema: Schema.Codec<S, unknown>): Unit<S> => {
  const decode = Schema.decodeUnknownOption(schema)
  return {
    step: (state, entry) => {
      if (entry.role !== "toolResult") return state
      const message = objectAt(entry.decode(), "message")
      if (message === undefined || stringAt(message, "toolName") !== toolName) return state
      return Option.getOrElse(decode(message["details"]), () => state)
    }
  }
}

/** Each custom entry of type `customType` holds one event in `data`; data that does not fit the schema is ignored. */
export const ledger = <S, E>(
  customType: string,
  schema: Schema.Codec<E, unknown>,
  apply: (state: S, event: E) => S
): Unit<S> => {
  const decode = Schema.decodeUnknownOption(schema)
  return {
    step: (state, entry) => {
      if (entry.type !== "custom") return state
      const payload = entry.decode()
      if (stringAt(payload, "customType") !== customType) return state
      return Option.match(decode(payload["data"]), { onNone: () => state, onSome: (event) => apply(state, event) })
    }
  }
}

/** The state after all entries. */
export const reconstruct = <S>(initial: S, unit: Unit<S>, entries: ReadonlyArray<SessionEntry>): S => {
  let state = initial
  for (const entry of entries) state = unit.step(state, entry)
  return state
}

/** The entries of a source in a tree. */
export const entriesOf = (source: Source, tree: SessionTree): ReadonlyArray<SessionEntry> => {
  switch (source._tag) {
    case "Branch":
      return source.leafId === undefined ? tree.getBranch() : tree.branchAt(source.leafId)
    case "Session":
      return tree.getEntries()
    case "External":
      return source.entries
  }
}

/** A function that rebuilds the state from a tree. Extensions call it at `session_start` and `session_tree`. */
export const make =
  <S>(options: { readonly initial: S; readonly source: Source; readonly unit: Unit<S> }) =>
  (tree: SessionTree): S =>
    reconstruct(options.initial, options.unit, entriesOf(options.source, tree))
