/** `pi-sessions extract`: sessions become training data. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as SessionDiscovery from "@pi-sessions/catalog/SessionDiscovery"
import * as GasTown from "@pi-sessions/core/GasTown"
import { Extract } from "@pi-sessions/extract/Extract"
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
    const { continued, train } = report.outputs
    yield* invocation.note(`wrote ${train}`)
    if (continued !== undefined) {
      yield* invocation.note(
        `wrote ${continued}: prompt and completion, where the context holds answers that are no targets`
      )
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
