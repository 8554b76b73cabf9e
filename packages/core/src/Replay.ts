/**
 * Durable state of an extension, rebuilt by pure replay (seed 001): same entries, same state, no hidden input.
 *
 * Two choices are independent. The source is the truth boundary: the current branch (state rewinds with `/tree`), the
 * whole session (what once happened stays), or entries from anywhere else. The unit is what an entry carries: a
 * snapshot of the whole state in a tool result's details, or one event of a ledger in a custom entry.
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

/** True on the current branch at the current leaf, or at `leafId` (null: before the first entry). */
export const branch = (leafId?: string | null): Source =>
  leafId === undefined ? { _tag: "Branch" } : { _tag: "Branch", leafId }

/** True once it happened anywhere in the session file; facts off a forked path do not come along. */
export const session: Source = { _tag: "Session" }

/** True by entries kept outside the session, so it survives forks. */
export const external = (entries: ReadonlyArray<SessionEntry>): Source => ({ _tag: "External", entries })

/** How an entry changes the state; an entry that is none of the unit's leaves it as it is. */
export interface Unit<S> {
  readonly step: (state: S, entry: SessionEntry) => S
}

/** Each result of tool `toolName` holds the whole state in `details`; details that do not fit the schema are passed over. */
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

/** Each custom entry of type `customType` holds one event; data that does not fit the schema is passed over. */
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

/** `reconstruct(entries) => state`: the pure function at the heart of the seed. */
export const reconstruct = <S>(initial: S, unit: Unit<S>, entries: ReadonlyArray<SessionEntry>): S => {
  let state = initial
  for (const entry of entries) state = unit.step(state, entry)
  return state
}

/** The entries that a source means in a tree. */
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

/** A state that can be rebuilt from any tree: call it at session_start and at session_tree. */
export const make =
  <S>(options: { readonly initial: S; readonly source: Source; readonly unit: Unit<S> }) =>
  (tree: SessionTree): S =>
    reconstruct(options.initial, options.unit, entriesOf(options.source, tree))
