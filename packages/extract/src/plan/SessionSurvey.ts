/** Surveys a file: whose session it is, whether it is selected, and what ties it to others. Reads no more than needed. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import * as GasTown from "@pi-sessions/core/GasTown"
import { stringAt } from "@pi-sessions/core/Json"
import { type SessionLine } from "@pi-sessions/core/SessionLine"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type Selection } from "../ExtractOptions.ts"
import { ReportRow } from "../ExtractReport.ts"
import { FamilyEvidence } from "./Families.ts"
import * as Marks from "@pi-sessions/samples/Marks"
import * as SessionBudget from "@pi-sessions/core/SessionBudget"
import { OverBudget } from "@pi-sessions/core/SessionBudget"
import { SessionEvidence } from "./SessionEvidence.ts"

/** A session that is selected. */
export const Selected = Schema.Struct({
  ref: Schema.Struct({ path: Schema.String, sizeBytes: Schema.Number, modifiedMs: Schema.Number }),
  sessionId: Schema.String,
  /** The header's. */
  timestamp: Schema.String,
  role: GasTown.RoleDetection
})
export type Selected = typeof Selected.Type

export interface Question extends Selection {
  /** The evidence that is collected: none, that of kin, or also the signature of the text. */
  readonly evidence: "none" | "kin" | "all"
}

/** The result of a survey. */
export const Look = Schema.TaggedUnion({
  /** No session, or not selected. */
  Row: { row: ReportRow },
  /** With evidence, unless the question is `none`. */
  Session: { session: Selected, evidence: Schema.optionalKey(FamilyEvidence) }
})
export type Look = typeof Look.Type

/** The fields that each row of a session has. */
export const rowOf = ({ path }: SessionRef, role: GasTown.RoleDetection, sessionId: string | undefined) => ({
  path,
  ...(sessionId === undefined ? {} : { session_id: sessionId }),
  role: role.role,
  ...(role.rig === undefined ? {} : { rig: role.rig }),
  ...(role.address === undefined ? {} : { address: role.address }),
  role_source: role.roleSource
})

/** The message of V8's error when there is no memory for a buffer. */
const NO_BUFFER = /allocation failed/u

/** Why work on a session failed: a limit was exceeded, memory was short, or values are nested too deeply. */
const failureOf = (error: unknown): Pick<ReportRow, "outcome" | "detail" | "stage"> => {
  if (error instanceof OverBudget) return { outcome: "over_budget", stage: error.stage, detail: error.message }
  const isMemory = error instanceof RangeError && NO_BUFFER.test(error.message)
  return { outcome: isMemory ? "out_of_memory" : "unreadable", detail: String(error) }
}

/** The row of a session whose processing threw `error`. */
export const failedRow = ({ ref, role, sessionId }: Selected, error: unknown): ReportRow => {
  const failure = failureOf(error)
  return failure.outcome === "unreadable"
    ? { path: ref.path, ...failure }
    : { ...rowOf(ref, role, sessionId), ...failure }
}

/** Surveys a file. A file that cannot be read or exceeds the budget is a row. */
export const look = Effect.fnUntraced(function* (
  ref: SessionRef,
  question: Question,
  budget: SessionBudget.SessionBudget = SessionBudget.unlimited()
): Effect.fn.Return<Look, never, SessionSource> {
  const source = yield* SessionSource
  const opening = new SessionRole.Opening()
  const evidence =
    question.evidence === "none"
      ? undefined
      : new SessionEvidence({ withSignature: question.evidence === "all", budget })
  let look: Look | undefined
  const isWanted = (line: SessionLine): boolean => {
    evidence?.push(line)
    if (look === undefined) {
      opening.push(line)
      if (opening.complete) look = judge(ref, opening, question)
    }
    if (look?._tag === "Row") return false
    return look === undefined || evidence !== undefined
  }
  const broken = (error: unknown): Look => {
    const row = look?._tag === "Session" ? failedRow(look.session, error) : { path: ref.path, ...failureOf(error) }
    return Look.cases.Row.make({ row })
  }
  const failed = yield* Stream.runForEachWhile(source.lines(ref), (line) => Effect.sync(() => isWanted(line))).pipe(
    Effect.as(undefined),
    Effect.catch(({ reason }) =>
      Effect.succeed(Look.cases.Row.make({ row: { path: ref.path, outcome: "unreadable", detail: reason } }))
    ),
    // A defect in one session must not fail the run.
    Effect.catchDefect((defect) => Effect.sync(() => broken(defect)))
  )
  if (failed !== undefined) return failed
  const judged = look ?? judge(ref, opening, question)
  if (judged._tag === "Row") return judged
  // Later the whole file is in memory.
  if (ref.sizeBytes > budget.maxBytes) {
    const error = new OverBudget({ stage: "read", unit: "bytes", limit: budget.maxBytes })
    return Look.cases.Row.make({ row: failedRow(judged.session, error) })
  }
  const found = evidence?.of(ref.path)
  return found === undefined ? judged : { ...judged, evidence: found }
})

const judge = (ref: SessionRef, opening: SessionRole.Opening, question: Question): Look => {
  const header = opening.header?.decode()
  if (header === undefined) return Look.cases.Row.make({ row: { path: ref.path, outcome: "not_a_session" } })
  const town = question.town === undefined ? {} : { town: question.town }
  const role = SessionRole.detect(opening, { path: ref.path, ...town })
  const sessionId = stringAt(header, "id")
  const timestamp = stringAt(header, "timestamp") ?? ""
  const leave = (outcome: "not_selected" | "out_of_time" | Marks.Refusal): Look =>
    Look.cases.Row.make({ row: { ...rowOf(ref, role, sessionId), outcome } })
  if (!isSelected(role, question)) return leave("not_selected")
  if (!isInTime(timestamp, question)) return leave("out_of_time")
  const refusal = question.marks === undefined ? undefined : Marks.refusal(question.marks, sessionId ?? "")
  if (refusal !== undefined) return leave(refusal)
  return Look.cases.Session.make({ session: { ref, role, sessionId: sessionId ?? "", timestamp } })
}

const isSelected = (role: GasTown.RoleDetection, selection: Selection): boolean => {
  const { includeDogs = false, rigs, roles } = selection
  return (
    (rigs.length === 0 || rigs.some((rig) => GasTown.matchesRig(role, rig, { includeDogs }))) &&
    (roles.length === 0 || roles.includes(role.role))
  )
}

/** A session without a time is in no period. */
const isInTime = (timestamp: string, { since, until }: Selection): boolean => {
  const time = Date.parse(timestamp)
  return (since === undefined || time >= Date.parse(since)) && (until === undefined || time < Date.parse(until))
}

/** By time, then by path. */
export const inOrderOfTime = (a: Selected, b: Selected): number => {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  return a.ref.path < b.ref.path ? -1 : 1
}
