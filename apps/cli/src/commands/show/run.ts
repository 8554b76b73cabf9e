/** Running `show`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Session from "@pi-sessions/core/Session"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as Timeline from "@pi-sessions/report/Timeline"
import { type Depth } from "@pi-sessions/report/TimelineDepth"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type Overflow } from "@pi-sessions/samples/Overflow"
import { type Reasoning } from "@pi-sessions/samples/Reasoning"
import { CommandFailed, UsageError } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as ChosenSession from "../../ChosenSession.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as TimelineText from "../../print/TimelineText.ts"

export interface Input {
  readonly session: Option.Option<string>
  readonly depth: Depth
  readonly branch: Option.Option<string>
  readonly width: Option.Option<number>
  readonly raw: boolean
  readonly json: boolean
  readonly ndjson: boolean
  readonly as: Option.Option<FormatName>
  readonly branches: Option.Option<"active" | "all">
  readonly reasoning: Option.Option<Reasoning>
  readonly maxTokens: Option.Option<number>
  readonly overflow: Option.Option<Overflow>
  readonly tokenizer: Option.Option<string>
  readonly includeHydrated: boolean
  readonly noRedact: boolean
}

/** Flags that mean nothing without `--as`. */
const OF_SAMPLES = {
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

const checked = (input: Input): string | undefined => {
  if ([input.raw, input.json, input.ndjson].filter(Boolean).length > 1) {
    return "--raw, --json and --ndjson are three forms of the result; give one of them"
  }
  if (Option.isSome(input.as)) {
    return input.raw
      ? "--raw is of the session as it is; with --as, --ndjson prints the lines of the samples"
      : undefined
  }
  const without = Object.entries(OF_SAMPLES).find(([, name]) => isGiven(input[name]))
  return without === undefined ? undefined : `${without[0]} is about samples; say of which format with --as`
}

/** The lines of one JSON document, an item on each. */
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

/** A line of JSON for each item. */
function* objects(timeline: Timeline.Timeline, depth: Depth): Generator<string> {
  for (const item of Timeline.items(timeline, depth)) yield TerminalText.json(JSON.stringify(item))
}

/** The original lines; at a terminal with what could steer it escaped, which is the same JSON. */
const raw = (timeline: Timeline.Timeline, layout: ResultPrinter.Layout) => {
  const lines = Timeline.originals(timeline)
  return layout.isTerminal ? ResultPrinter.lines(escaped(lines)) : ResultPrinter.bytes(Session.print(lines))
}

function* escaped(lines: ReadonlyArray<{ readonly text: string }>): Generator<string> {
  for (const line of lines) yield TerminalText.json(line.text)
}

export const run = Effect.fnUntraced(
  function* (input: Input) {
    const wrong = checked(input)
    if (wrong !== undefined) return yield* new UsageError({ text: wrong })
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
  },
  Effect.catchTag("PlatformError", (error) => Effect.fail(new CommandFailed({ text: error.message }))),
  Effect.provide(StoredSessions.layer)
)
