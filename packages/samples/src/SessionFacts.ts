/** What a session says of itself and of its branches, for turns and samples alike. */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type Json, type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { HYDRATED_ENTRY_TYPE, HYDRATED_FIELD } from "@pi-sessions/core/SessionHeader"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionMetadata } from "./ExtractedSession.ts"
import { type Turn } from "./Turn.ts"
import { callsOf, named, origin, text } from "./TurnWriter.ts"

export const systemTurn = (content: string, entry: SessionEntry | undefined): Turn => ({
  role: "system",
  content,
  tool_calls: [],
  tool_results: [],
  ...origin(entry),
  metadata: {}
})

export const roleMetadata = (detection: GasTown.RoleDetection) => {
  const { address, name, rig, role, roleConflict, roleSource, town } = detection
  return {
    role,
    ...named("name", name),
    ...named("rig", rig),
    ...named("town", town),
    ...named("address", address),
    role_source: roleSource,
    ...(roleConflict === undefined ? {} : { role_conflict: roleConflict })
  }
}

/** The branch's last word, else what pi-rust and version 1 put into the header. */
export const settings = (
  branch: ReadonlyArray<SessionEntry>,
  header: JsonObject
): Pick<SessionMetadata, "provider" | "model" | "thinking_level"> => {
  const { model, thinkingLevel } = SessionContext.settings(branch)
  const said = branch.some((entry) => entry.type === "thinking_level_change") ? thinkingLevel : undefined
  const level = said ?? header["thinkingLevel"]
  return {
    provider: stringOrNull(model?.provider ?? header["provider"]),
    model: stringOrNull(model?.modelId ?? header["modelId"]),
    thinking_level: stringOrNull(level) ?? "off"
  }
}

const stringOrNull = (value: Json | undefined): string | null =>
  typeof value === "string" ? value.toWellFormed() : null

/** The thinking level at each entry of a branch. */
export const thinkingLevels = (
  branch: ReadonlyArray<SessionEntry>,
  header: JsonObject
): ReadonlyMap<SessionEntry, string> => {
  const levels = new Map<SessionEntry, string>()
  let level = stringAt(header, "thinkingLevel") ?? "off"
  for (const entry of branch) {
    if (entry.type === "thinking_level_change") level = stringAt(entry.decode(), "thinkingLevel") ?? level
    levels.set(entry, level)
  }
  return levels
}

/** Entries that stand for a message of the conversation. */
export const isConversation = (entry: SessionEntry): boolean =>
  entry.type === "message" || entry.type === "custom_message" || entry.type === "branch_summary"

/** Every call id that the context holds. */
export const ownIds = (items: ReadonlyArray<SessionContext.ContextItem>): ReadonlySet<string> =>
  new Set(items.flatMap(({ message }) => callsOf(message).map((call) => text(call, "id"))))

/** Told by the header, or, in a fork that Pi made, by the entry that hydration left. */
export const isHydrated = (header: JsonObject, session: Session.Session): boolean =>
  (header["hydratedFrom"] ?? null) !== null || hydrationNote(session) !== undefined

const hydrationNote = (session: Session.Session): JsonObject | undefined =>
  session.tree
    .getEntries()
    .find((entry) => entry.type === "custom" && stringAt(entry.decode(), "customType") === HYDRATED_ENTRY_TYPE)
    ?.decode()

/** Whether a model gave an answer behind the context that it stands in; hydration says of which ones it wrote. */
export const isGenuine = (header: JsonObject, session: Session.Session): ((entry: SessionEntry) => boolean) => {
  if (!isHydrated(header, session)) return () => true
  const isMarked = objectAt(hydrationNote(session) ?? {}, "data")?.["marks"] === "answers"
  return isMarked ? (entry) => entry.decode()[HYDRATED_FIELD] !== true : () => false
}
