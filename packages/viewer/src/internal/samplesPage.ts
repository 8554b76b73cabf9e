/** The samples that extract makes of a session, with the entries that each turn comes from. */
import * as Effect from "effect/Effect"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { type RedactionSettings } from "@pi-sessions/extract/ExtractOptions"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import * as SessionSamples from "@pi-sessions/extract/SessionSamples"
import { estimate, ofSample } from "@pi-sessions/samples/TokenCount"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { ViewFailed } from "../ViewError.ts"
import { TOO_LARGE, WHOLE_BYTES } from "../ViewLimits.ts"
import { type SampleTurn, type SampleView, type SamplesPage } from "../ViewModel.ts"
import { type ListedSessions } from "./ListedSessions.ts"

interface SampleOptions {
  readonly format: FormatName
  readonly redaction: RedactionSettings | "off"
}

/** Reads the whole session; fails if it is too large. */
export const samplesPage = Effect.fnUntraced(function* (listed: ListedSessions, key: string, options: SampleOptions) {
  const ref = yield* listed.get(key)
  if (ref.sizeBytes > WHOLE_BYTES) return yield* new ViewFailed({ message: TOO_LARGE })
  return yield* pageOf(ref, options).pipe(
    Effect.mapError(listed.failedFor(ref)),
    Effect.catchDefect((defect) => Effect.fail(listed.failed(ref.path)({ message: String(defect) })))
  )
})

const pageOf = Effect.fnUntraced(function* (ref: CatalogSession, options: SampleOptions) {
  const source = yield* SessionSource
  const session = yield* source.read(ref)
  return yield* Effect.sync((): SamplesPage => {
    const role = SessionRole.detect(SessionRole.openingOf(session.lines), { path: ref.path })
    const made = SessionSamples.of(session, { ref, role }, { ...options, includeHydrated: true })
    const places = new Map(
      SessionMigration.toCurrent(session)
        .tree.getEntries()
        .map(({ line }, index) => [line, index])
    )
    const indexOf = ({ line }: SessionEntry): ReadonlyArray<number> => {
      const index = places.get(line)
      return index === undefined ? [] : [index]
    }
    return {
      format: options.format,
      outcome: made.row.outcome,
      samples: made.samples.map((sample) => sampleView(sample, indexOf)),
      fates: made.fates.flatMap(({ entry, lost, reason, told }) =>
        indexOf(entry).map((index) => ({ entry: index, told, lost, ...(reason === undefined ? {} : { reason }) }))
      )
    }
  })
})

type IndexOf = (entry: SessionEntry) => ReadonlyArray<number>

const sampleView = (made: SessionSamples.KeptSample | SessionSamples.RefusedSample, indexOf: IndexOf): SampleView => {
  const { sample } = made
  const { metadata } = sample
  const dropped = made._tag === "Kept" ? made.dropped : metadata.dropped
  return {
    number: made._tag === "Kept" ? made.number : null,
    ...(made._tag === "Kept" ? {} : { reason: made.reason }),
    start: metadata.start,
    context: metadata.context,
    tools: metadata.tools_source,
    targets: metadata.targets,
    tokens: ofSample(sample, estimate),
    dropped: Object.entries(dropped),
    turns: made.turns.map((turn) => sampleTurn(turn, indexOf))
  }
}

const sampleTurn = ({ as, entries, turn }: SessionSamples.TracedTurn, indexOf: IndexOf): SampleTurn => ({
  role: turn.tool_results.length > 0 ? "tool" : turn.role,
  as,
  entries: entries.flatMap(indexOf),
  content: turn.content,
  ...(turn.metadata.reasoning === undefined ? {} : { reasoning: turn.metadata.reasoning }),
  calls: turn.tool_calls.map((call) => ({ name: call.name, arguments: JSON.stringify(call.arguments) })),
  results: turn.tool_results.map((result) => ({
    name: result.tool_name,
    content: result.content,
    isError: result.is_error
  }))
})
