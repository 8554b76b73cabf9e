/**
 * Which entries a turn is made of. The mark is a property that JSON does not show and that goes with a turn when it is
 * copied with changes, so it comes through everything that is done to samples until they are lines.
 */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type DropReason, DropTally } from "./DropCounts.ts"
import { type TargetRun } from "./TargetRuns.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"
import { ownIds } from "./SessionFacts.ts"
import { TurnWriter } from "./TurnWriter.ts"

const MARK = Symbol("@pi-sessions/extract/turnOrigin")

class Origin {
  readonly entries: ReadonlyArray<SessionEntry>
  constructor(entries: ReadonlyArray<SessionEntry>) {
    this.entries = entries
  }
}

const marked = (turn: Turn, entries: ReadonlyArray<SessionEntry>): Turn => {
  const origin: { readonly [MARK]: Origin } = { [MARK]: new Origin(entries) }
  return { ...turn, ...origin }
}

/** The entries of a turn of a marked sample. None where it is from elsewhere, as a prompt that a file gave. */
export const entriesOf = (turn: Turn): ReadonlyArray<SessionEntry> => {
  const origin: unknown = Reflect.get(turn, MARK)
  return origin instanceof Origin ? origin.entries : []
}

/** The sample with its turns marked; of its run's entries that are in no turn, and of parts that are in none, the reasons. */
export interface TracedSample {
  readonly sample: TrainingSample
  readonly unsaid: ReadonlyMap<SessionEntry, DropReason>
  readonly lost: ReadonlyMap<SessionEntry, ReadonlySet<DropReason>>
}

/** Reasons for which the writer leaves out a whole message; the others are of parts. */
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

class Listening extends DropTally {
  heard: Array<DropReason> = []
  override add(reason: DropReason, count = 1): void {
    if (count > 0) this.heard.push(reason)
  }
}

/** Tells the run once more, and looks where each entry goes. */
export const trace = (sample: TrainingSample, run: TargetRun): TracedSample => {
  const tally = new Listening()
  const items = run.messages.flatMap(({ of }) => of ?? [])
  const writer = new TurnWriter(ownIds(items), new Map(), tally)
  const entries = new Map<number, Array<SessionEntry>>()
  const unsaid = new Map<SessionEntry, DropReason>()
  const lost = new Map<SessionEntry, Set<DropReason>>()
  for (const { message, of } of run.messages) {
    if (of === undefined) continue
    tally.heard = []
    writer.push(of.entry, of.message, message)
    const whole = tally.heard.find((reason) => WHOLE.has(reason))
    if (whole !== undefined) {
      unsaid.set(of.entry, whole)
      continue
    }
    // The turn of results is not there before the last of them.
    const at = message["role"] === "toolResult" ? writer.turns.length : writer.turns.length - 1
    const sharers = entries.get(at)
    if (sharers === undefined) entries.set(at, [of.entry])
    else if (!sharers.includes(of.entry)) sharers.push(of.entry)
    if (tally.heard.length > 0) lost.set(of.entry, new Set([...(lost.get(of.entry) ?? []), ...tally.heard]))
  }
  const system = run.systemMessages.flatMap(({ of }) => of?.entry ?? [])
  const lead = sample.turns[0]?.role === "system" ? 1 : 0
  const turns = sample.turns.map((turn, at) => marked(turn, at < lead ? system : (entries.get(at - lead) ?? [])))
  return { sample: { ...sample, turns }, unsaid, lost }
}
