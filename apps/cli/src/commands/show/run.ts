/** Runs `show`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Session from "@pi-sessions/core/Session"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as Timeline from "@pi-sessions/report/Timeline"
import { type Depth } from "@pi-sessions/report/TimelineDepth"
import { UsageError } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as ChosenSession from "../../ChosenSession.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { type Input } from "../show.ts"
import * as TimelineText from "../../print/TimelineText.ts"

/** Flags that need `--as`. */
const SAMPLE_FLAGS = {
  "--branches": "branches",
  "--reasoning": "reasoning",
  "--max-tokens": "maxTokens",
  "--overflow": "overflow",
  "--tokenizer": "tokenizer",
  "--include-hydrated": "includeHydrated",
  "--no-redact": "noRedact"
} as const

const isGiven = (value: boolean | Option.Option<unknown>): boolean =>
  typeof value === "boolean" ? value : Option.isSome(value)

const check = (input: Input) => {
  const { as, json, ndjson, raw } = input
  const alone = Object.entries(SAMPLE_FLAGS).find(([, name]) => isGiven(input[name]))?.[0]
  return FlagCheck.all(
    FlagCheck.exclusive({ "--raw": raw, "--json": json, "--ndjson": ndjson }),
    Option.isSome(as) && raw
      ? new UsageError({ text: "--raw prints the session itself; with --as, --ndjson prints the samples' lines" })
      : undefined,
    Option.isNone(as) && alone !== undefined
      ? new UsageError({ text: `${alone} is about samples; choose their format with --as` })
      : undefined
  )
}

/** The lines of one JSON document, one item per line. */
function* document(read: ChosenSession.ReadSession, timeline: Timeline.Timeline, depth: Depth): Generator<string> {
  const { cwd, format, id, path } = read.ref
  const head = JSON.stringify({ path, format, id, cwd, leafId: timeline.leafId, depth })
  yield `${TerminalText.json(head.slice(0, -1))},"items":[`
  let previous: string | undefined
  for (const line of objects(timeline, depth)) {
    if (previous !== undefined) yield `${previous},`
    previous = line
  }
  yield `${previous ?? ""}]}`
}

/** Each item as a line of JSON. */
function* objects(timeline: Timeline.Timeline, depth: Depth): Generator<string> {
  for (const item of Timeline.items(timeline, depth)) yield TerminalText.json(JSON.stringify(item))
}

/** Prints the original lines. At a terminal, control characters are escaped, which gives the same JSON. */
const raw = (timeline: Timeline.Timeline, layout: ResultPrinter.Layout) => {
  const lines = Timeline.originals(timeline)
  return layout.isTerminal ? ResultPrinter.lines(escaped(lines)) : ResultPrinter.bytes(Session.print(lines))
}

function* escaped(lines: ReadonlyArray<{ readonly text: string }>): Generator<string> {
  for (const line of lines) yield TerminalText.json(line.text)
}

export const run = Effect.fnUntraced(function* (input: Input) {
  yield* check(input)
  const read = yield* ChosenSession.read(input.session)
  const { tree } = SessionMigration.toCurrent(read.session)
  yield* Interruption.point
  const timeline = Timeline.make(read.session, yield* ChosenSession.entryId(tree, input.branch))
  if (timeline === undefined) return yield* Effect.die(new Error("an entry of the tree is not in it"))
  yield* Interruption.point
  const layout = yield* ResultPrinter.layout(Option.getOrUndefined(input.width))
  if (Option.isSome(input.as)) {
    const { print } = yield* Effect.promise(() => import("./samples.ts"))
    return yield* print(read, timeline, layout, { ...input, as: input.as.value })
  }
  if (input.raw) return yield* raw(timeline, layout)
  if (input.json) return yield* ResultPrinter.lines(document(read, timeline, input.depth))
  if (input.ndjson) return yield* ResultPrinter.lines(objects(timeline, input.depth))
  return yield* ResultPrinter.lines(TimelineText.render(Timeline.items(timeline, input.depth), layout))
}, Effect.provide(StoredSessions.layer))
