/** Facts of a session and its branches that both turns and samples need, such as their metadata. */
import * as EntryType from "@pi-sessions/core/EntryType"
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type Json, type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { HYDRATED_ENTRY_TYPE, HYDRATED_FIELD, versionOf } from "@pi-sessions/core/SessionHeader"
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

/** The metadata that all samples of a session share. `source` is the session in the version on disk. */
export const sessionMetadata = (
  source: Session.Session,
  session: Session.Session,
  header: JsonObject,
  role: GasTown.RoleDetection
) => ({
  ...roleMetadata(role),
  timestamp: text(header, "timestamp"),
  ...named("session_name", session.tree.name()),
  ...named("parent_session", stringAt(header, "parentSession")),
  version: versionOf(source.header?.decode() ?? {}),
  hydrated: isHydrated(header, session)
})

/** The metadata of a branch and of the turns that its context items became. */
export const branchMetadata = (
  session: Session.Session,
  header: JsonObject,
  { branch, items }: BranchContext,
  turns: ReadonlyArray<Turn>
) => ({
  ...settings(branch, header),
  leaf_id: branch.at(-1)?.id?.toWellFormed() ?? null,
  entries: {
    file: session.tree.getEntries().length,
    branch: branch.length,
    context: new Set(items.map((item) => item.entry)).size
  },
  tool_errors: turns.flatMap((turn) => turn.tool_results).filter((result) => result.is_error).length
})

/** A branch from the root, and its context. */
export interface BranchContext {
  readonly branch: ReadonlyArray<SessionEntry>
  readonly items: ReadonlyArray<SessionContext.ContextItem>
}

const roleMetadata = (detection: GasTown.RoleDetection) => {
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

/** The latest settings of the branch, else those of the header, where pi-rust and version 1 have them. */
const settings = (
  branch: ReadonlyArray<SessionEntry>,
  header: JsonObject
): Pick<SessionMetadata, "provider" | "model" | "thinking_level"> => {
  const { model, thinkingLevel } = SessionContext.settings(branch)
  const changed = branch.some((entry) => entry.type === "thinking_level_change") ? thinkingLevel : undefined
  const level = changed ?? header["thinkingLevel"]
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

/** Whether an entry is a message of the conversation. */
export const isConversation = (entry: SessionEntry): boolean => EntryType.of(entry.type).context === "message"

/** All call ids in the context. */
export const ownIds = (items: ReadonlyArray<SessionContext.ContextItem>): ReadonlySet<string> =>
  new Set(items.flatMap(({ message }) => callsOf(message).map((call) => text(call, "id"))))

/** Whether hydration wrote the session: the header shows it, or in a fork by Pi, an entry written by hydration. */
export const isHydrated = (header: JsonObject, session: Session.Session): boolean =>
  (header["hydratedFrom"] ?? null) !== null || hydrationNote(session) !== undefined

const hydrationNote = (session: Session.Session): JsonObject | undefined =>
  session.tree
    .getEntries()
    .find((entry) => entry.type === "custom" && stringAt(entry.decode(), "customType") === HYDRATED_ENTRY_TYPE)
    ?.decode()

/** Tests whether a model gave an answer in this context. Hydration marks the answers that it wrote. */
export const isGenuine = (header: JsonObject, session: Session.Session): ((entry: SessionEntry) => boolean) => {
  if (!isHydrated(header, session)) return () => true
  const isMarked = objectAt(hydrationNote(session) ?? {}, "data")?.["marks"] === "answers"
  return isMarked ? (entry) => entry.decode()[HYDRATED_FIELD] !== true : () => false
}
