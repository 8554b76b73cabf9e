/** `pi-sessions extract`: sessions become training data. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as SessionDiscovery from "@pi-sessions/catalog/SessionDiscovery"
import * as GasTown from "@pi-sessions/core/GasTown"
import { Extract } from "@pi-sessions/extract/Extract"
import { type SplitRule } from "@pi-sessions/extract/Splits"
import { CommandFailed, UsageError } from "../Exit.ts"
import * as ExtractTable from "../ExtractTable.ts"
import { Invocation } from "../Invocation.ts"

/** Sessions in files and in containers. */
const sessionsAt = (paths: ReadonlyArray<string>) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("../StoredSessions.ts")),
      (stored) => stored.layerPaths(paths)
    )
  )

const flags = {
  rig: Flag.String("rig").pipe(
    Flag.withMetavar("RIG"),
    Flag.withDescription(
      "Only sessions of this rig, town-level agent or address: gastown, deacon, gastown/crew/max, gastown/**"
    ),
    Flag.atLeast(0)
  ),
  role: Flag.Literals("role", GasTown.Role.literals).pipe(
    Flag.withDescription("Only sessions of this role"),
    Flag.atLeast(0)
  ),
  sessions: Flag.String("sessions").pipe(
    Flag.withMetavar("PATH"),
    Flag.withDescription("Session file, or directory to search to any depth (default: where Pi keeps its sessions)"),
    Flag.atLeast(0)
  ),
  format: Flag.Literals("format", ["messages", "sharegpt"]).pipe(
    Flag.withDescription("messages: TRL and Unsloth, with tools; sharegpt: LLaMA-Factory"),
    Flag.withDefault("messages")
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Directory to write train.jsonl and report.json to (default: ./dataset-RIG)"),
    Flag.optional
  ),
  since: Flag.String("since").pipe(
    Flag.withMetavar("DATE"),
    Flag.withDescription("Only sessions begun at this time or later (ISO 8601, such as 2026-02-01)"),
    Flag.optional
  ),
  until: Flag.String("until").pipe(
    Flag.withMetavar("DATE"),
    Flag.withDescription("Only sessions begun before this time"),
    Flag.optional
  ),
  model: Flag.String("model").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Only what this model answered"),
    Flag.atLeast(0)
  ),
  minTurns: Flag.Int("min-turns").pipe(Flag.withDescription("Leave out samples of fewer turns"), Flag.withDefault(0)),
  limit: Flag.Int("limit").pipe(
    Flag.withDescription("Only the first so many sessions, in the order in which they were begun"),
    Flag.optional
  ),
  split: Flag.String("split").pipe(
    Flag.withMetavar("SHARE|time:DATE"),
    Flag.withDescription(
      "What goes to validation: a share of the families of each role, or sessions begun at a time or later (default: 0.05)"
    ),
    Flag.optional
  ),
  maxTokens: Flag.Int("max-tokens").pipe(
    Flag.withDescription("Samples of at most so many tokens (estimated), system prompt and tools counted in"),
    Flag.optional
  ),
  overflow: Flag.Literals("overflow", ["elide-results", "window", "drop"]).pipe(
    Flag.withDescription(
      "What becomes of longer ones: the oldest tool results give way, they are cut into several, or they are left out"
    ),
    Flag.withDefault("window")
  ),
  includeNearDuplicates: Flag.Boolean("include-near-duplicates").pipe(
    Flag.withDescription("Take sessions that say nearly what an earlier one says too"),
    Flag.withDefault(false)
  ),
  town: Flag.String("town").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Root of the town, where paths do not show it"),
    Flag.optional
  ),
  includeDogs: Flag.Boolean("include-dogs").pipe(
    Flag.withDescription("With --rig deacon: boot and the dogs too"),
    Flag.withDefault(false)
  ),
  branches: Flag.Literals("branches", ["active", "all"]).pipe(
    Flag.withDescription("The active branch of each session, or all of them"),
    Flag.withDefault("active")
  ),
  reasoning: Flag.Literals("reasoning", ["all", "last-query", "none"]).pipe(
    Flag.withDescription(
      "The model's thinking: all of it, that after the last user turn (as Qwen3's template), or none"
    ),
    Flag.withDefault("all")
  ),
  includeHydrated: Flag.Boolean("include-hydrated").pipe(
    Flag.withDescription("Take hydrated sessions too, although no model wrote their text in that form"),
    Flag.withDefault(false)
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the report as one JSON document"),
    Flag.withDefault(false)
  )
}

/** `0.1` or `time:2026-02-01`. */
const splitRule = (text: string): Effect.Effect<SplitRule, UsageError> => {
  const from = text.startsWith("time:") ? text.slice("time:".length) : undefined
  if (from !== undefined) return Effect.as(date("--split", from), { _tag: "Time", from })
  const validation = text.trim() === "" ? Number.NaN : Number(text)
  return validation >= 0 && validation < 1
    ? Effect.succeed({ _tag: "Share", validation })
    : Effect.fail(new UsageError({ text: `--split ${text}: give a share from 0 to below 1, or time:DATE` }))
}

/** Refuses what is no date. */
const date = (flag: string, text: string): Effect.Effect<string, UsageError> =>
  Number.isNaN(Date.parse(text))
    ? Effect.fail(new UsageError({ text: `${flag} ${text}: no date; give ISO 8601, such as 2026-02-01` }))
    : Effect.succeed(text)

/** What is given of the flags that may be left out. */
const given = Effect.fnUntraced(function* (input: {
  readonly since: Option.Option<string>
  readonly until: Option.Option<string>
  readonly limit: Option.Option<number>
  readonly maxTokens: Option.Option<number>
  readonly split: Option.Option<string>
}) {
  const { limit, maxTokens, since, split, until } = input
  return {
    ...(Option.isSome(since) ? { since: yield* date("--since", since.value) } : {}),
    ...(Option.isSome(until) ? { until: yield* date("--until", until.value) } : {}),
    ...(Option.isSome(limit) ? { limit: limit.value } : {}),
    ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
    ...(Option.isSome(split) ? { split: yield* splitRule(split.value) } : {})
  }
})

const defaultOut = (rigs: ReadonlyArray<string>, roles: ReadonlyArray<string>): string => {
  const chosen = [...rigs, ...roles].map((name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-|-$/g, ""))
  return ["dataset", ...chosen].join("-")
}

export const extract = Command.make(
  "extract",
  flags,
  Effect.fnUntraced(function* (input) {
    const invocation = yield* Invocation
    if (input.sessions.includes("")) {
      return yield* new UsageError({ text: "--sessions is empty; give a session file or a directory" })
    }
    const chosen = yield* given(input)
    const out = invocation.resolve(Option.getOrElse(input.out, () => defaultOut(input.rig, input.role)))
    const { roots, missing } = yield* SessionDiscovery.discover({ sessions: input.sessions, cwd: invocation.cwd })
    for (const { path, why } of [...roots, ...missing]) {
      if (why !== "--sessions") yield* invocation.note(`sessions: ${path} (${why})`)
    }
    for (const rig of input.rig) {
      const meaning = GasTown.describeSelector(rig, { includeDogs: input.includeDogs })
      if (meaning !== undefined) yield* invocation.note(meaning)
    }

    const report = yield* Effect.flatMap(Extract, (service) =>
      service.run({
        rigs: input.rig,
        roles: input.role,
        format: input.format,
        out,
        ...Option.match(input.town, { onNone: () => ({}), onSome: (town) => ({ town: invocation.resolve(town) }) }),
        includeDogs: input.includeDogs,
        ...chosen,
        models: input.model,
        minTurns: input.minTurns,
        overflow: input.overflow,
        includeNearDuplicates: input.includeNearDuplicates,
        branches: input.branches,
        reasoning: input.reasoning,
        includeHydrated: input.includeHydrated,
        onProgress: (done, total) => invocation.progress(`${done} of ${total} sessions`)
      })
    ).pipe(
      Effect.ensuring(invocation.progress("")),
      Effect.provide(Layer.provide(Extract.layer, sessionsAt(roots.map(({ path }) => path)))),
      Effect.mapError((error) =>
        error._tag === "NothingMatched"
          ? new UsageError({ text: error.message })
          : new CommandFailed({ text: error.message })
      )
    )
    for (const { path, reason } of report.skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
    for (const { path, outcome, detail } of report.rows) {
      if (outcome === "unreadable" || outcome === "invalid_sample") {
        yield* invocation.note(`warning: ${path}: ${outcome.replace("_", " ")}: ${detail ?? ""}`)
      }
    }
    for (const { path, volume } of report.rows) {
      const places = volume?.diagnostics ?? 0
      if (places > 0)
        yield* invocation.note(`warning: ${path}: damaged in ${places} ${places === 1 ? "place" : "places"}`)
    }
    for (const { path, samples } of report.outputs.files) {
      const what = path.endsWith("-continued.jsonl") ? ", prompt and completion: their context holds answers" : ""
      yield* invocation.note(`wrote ${path}: ${samples} ${samples === 1 ? "sample" : "samples"}${what}`)
    }
    yield* invocation.note("this data is not redacted: look through it before you share it")
    yield* invocation.result(input.json ? JSON.stringify(report, null, 2) : ExtractTable.render(report).join("\n"))
  })
).pipe(
  Command.withDescription("Turn sessions into training data, by rig and role"),
  Command.withExamples([
    { command: "pi-sessions extract --rig deacon", description: "Sessions of the deacon, from where Pi keeps them" },
    {
      command: "pi-sessions extract --rig gastown --role polecat --sessions ~/backup --format sharegpt --out data",
      description: "Polecats of one rig from a backup"
    }
  ])
)
