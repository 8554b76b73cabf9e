/** Traces a sample: finds the entries that each turn was made from, and why other entries of the run are in no turn. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type DropReason, DropTally } from "./DropCounts.ts"
import { type TargetRun } from "./TargetRuns.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { ownIds } from "./SessionFacts.ts"
import { TurnWriter } from "./TurnWriter.ts"

export interface TracedSample {
  /** Each turn has its `entries`; none if it is not from the session, as a system prompt from a file. */
  readonly sample: TrainingSample
  /** The entries of the run that are in no turn. */
  readonly unsaid: ReadonlyMap<SessionEntry, DropReason>
  /** The reasons why parts of entries are in no turn. */
  readonly lost: ReadonlyMap<SessionEntry, ReadonlySet<DropReason>>
}

/** Reasons that drop a whole message; the others drop parts. */
const WHOLE = new Set<DropReason>([
  "aborted_turn",
  "aborted_turn_tool_result",
  "duplicate_tool_result",
  "empty_assistant_turn",
  "empty_user_turn",
  "error_turn",
  "error_turn_tool_result",
  "orphan_tool_result"
])

class LatestDrops extends DropTally {
  reasons: Array<DropReason> = []
  override add(reason: DropReason, count = 1): void {
    if (count > 0) this.reasons.push(reason)
  }
}

/** Writes the turns of the run again and records which entry each turn comes from. */
export const trace = (sample: TrainingSample, run: TargetRun): TracedSample => {
  const drops = new LatestDrops()
  const items = run.messages.flatMap(({ of }) => of ?? [])
  const writer = new TurnWriter(ownIds(items), new Map(), drops)
  const entries = new Map<number, Array<SessionEntry>>()
  const unsaid = new Map<SessionEntry, DropReason>()
  const lost = new Map<SessionEntry, Set<DropReason>>()
  for (const { message, of } of run.messages) {
    if (of === undefined) continue
    drops.reasons = []
    writer.push(of.entry, of.message, message)
    const whole = drops.reasons.find((reason) => WHOLE.has(reason))
    if (whole !== undefined) {
      unsaid.set(of.entry, whole)
      continue
    }
    // The writer adds the turn of results only after the last of them.
    const at = message["role"] === "toolResult" ? writer.turns.length : writer.turns.length - 1
    const sharers = entries.get(at)
    if (sharers === undefined) entries.set(at, [of.entry])
    else if (sharers.at(-1) !== of.entry) sharers.push(of.entry)
    if (drops.reasons.length > 0) lost.set(of.entry, new Set([...(lost.get(of.entry) ?? []), ...drops.reasons]))
  }
  const system = run.systemMessages.flatMap(({ of }) => of?.entry ?? [])
  const lead = sample.turns[0]?.role === "system" ? 1 : 0
  const turns = sample.turns.map((turn, at) => ({
    ...turn,
    entries: at < lead ? system : (entries.get(at - lead) ?? [])
  }))
  return { sample: { ...sample, turns }, unsaid, lost }
}
