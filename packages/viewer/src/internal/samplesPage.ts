/** A session beside what extract makes of it. */
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
import { type SampleTurn, type SampleView, type SamplesPage } from "../ViewModel.ts"

interface CutOptions {
  readonly format: FormatName
  readonly redaction: RedactionSettings | "off"
}

/** Reads the session whole. */
export const sampleCut = Effect.fnUntraced(function* (ref: CatalogSession, options: CutOptions) {
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
