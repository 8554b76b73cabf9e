/** `pi-sessions hydrate`: a thread becomes a session file that Pi continues. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type * as Stdio from "effect/Stdio"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import { Hydrate, type Hydration } from "@pi-sessions/reconstruction/Hydrate"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import { PiEnvironment } from "@pi-sessions/session-file/PiEnvironment"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import { CommandFailed, UsageError } from "../Exit.ts"
import { Invocation } from "../Invocation.ts"

const flags = {
  thread: Flag.String("thread").pipe(
    Flag.withMetavar("REF"),
    Flag.withDescription(
      "Thread file (.jsonl or .json), - for standard input, or a thread id of ARBE_URL (with ARBE_TOKEN)"
    )
  ),
  session: Flag.String("session").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Which session, when the thread mirrors several (default: that of its newest entry)"),
    Flag.optional
  ),
  cwd: Flag.String("cwd").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Directory that the conversation goes on in (default: the current one)"),
    Flag.optional
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("Session file to write (default: in Pi's own session directory for --cwd)"),
    Flag.optional
  ),
  sessionDir: Flag.String("session-dir").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Directory to write the session file to, named by Pi's rule"),
    Flag.optional
  ),
  mode: Flag.Literals("mode", ["auto", "lossless", "semantic"]).pipe(
    Flag.withDescription("auto: byte for byte when the thread holds every raw line, else by meaning"),
    Flag.withDefault("auto")
  ),
  tools: Flag.Literals("tools", ["pairs", "flatten", "omit"]).pipe(
    Flag.withDescription("By meaning: keep calls with their results, write them as text, or leave them out"),
    Flag.withDefault("pairs")
  ),
  keepCwd: Flag.Boolean("keep-cwd").pipe(
    Flag.withDescription("Leave the header's cwd as it was (byte for byte only)"),
    Flag.withDefault(false)
  ),
  force: Flag.Boolean("force").pipe(
    Flag.withDescription("Move a file that holds something else aside instead of refusing"),
    Flag.withDefault(false)
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))
}

const OUTCOMES: { readonly [K in Hydration["outcome"]]: string } = {
  created: "wrote",
  extended: "brought up to date",
  unchanged: "nothing to do for",
  ahead: "left as it is, Pi has gone on there:",
  replaced: "wrote"
}

const describe = (hydration: Hydration): ReadonlyArray<string> => {
  const { outcome, path, entries, mode, cwd, movedAside } = hydration
  const how = mode === "lossless" ? "byte for byte" : "by meaning"
  return [
    `${OUTCOMES[outcome]} ${path} (${entries} entries, ${how}, for ${cwd})`,
    ...(movedAside === undefined ? [] : [`what was there is now ${movedAside}`]),
    `continue with: pi --session ${/[^\w./-]/.test(path) ? `'${path.replaceAll("'", `'\\''`)}'` : path}`
  ]
}

/** Where REF leads: standard input, a file that is there, else a thread of `ARBE_URL` when that is set. */
const threadPlace = Effect.fnUntraced(function* (ref: string, path: string) {
  const fs = yield* FileSystem.FileSystem
  const url = yield* Config.option(Config.String("ARBE_URL"))
  const file: Threads = ThreadSource.layerFile
  const stdin: Threads = ThreadSource.layerStdin
  if (ref === "-") return { ref, threads: stdin }
  if (Option.isSome(url) && !(yield* Effect.orElseSucceed(fs.exists(path), () => true))) {
    const FetchHttpClient = yield* Effect.promise(() => import("effect/http/FetchHttpClient"))
    const http: Threads = ThreadSource.layerHttp().pipe(Layer.provide(FetchHttpClient.layer))
    return { ref, threads: http }
  }
  return { ref: path, threads: file }
})

type Threads = Layer.Layer<ThreadSource, never, FileSystem.FileSystem | Path.Path | Stdio.Stdio>

export const hydrate = Command.make(
  "hydrate",
  flags,
  Effect.fnUntraced(function* (input) {
    const invocation = yield* Invocation
    const fs = yield* FileSystem.FileSystem
    const resolve = Option.map(invocation.resolve)
    const given = Option.getOrElse(resolve(input.cwd), () => invocation.cwd)
    // Pi names its folder after the directory as the kernel gives it, without links.
    const cwd = yield* fs.realPath(given).pipe(Effect.orElseSucceed(() => given))
    if (input.thread === "") {
      return yield* new UsageError({ text: "--thread is empty; give a thread file, or - for standard input" })
    }
    if (Option.isSome(input.out) && Option.isSome(input.sessionDir)) {
      return yield* new UsageError({ text: "--out and --session-dir both say where to write; give one of them" })
    }
    const place = yield* threadPlace(input.thread, invocation.resolve(input.thread))
    const target = Option.isSome(input.out)
      ? SessionTarget.layerFile(invocation.resolve(input.out.value))
      : Layer.unwrap(
          Effect.map(PiEnvironment, (environment) =>
            SessionTarget.layerDirectory(
              SessionPath.sessionDir(environment, Option.getOrUndefined(resolve(input.sessionDir))).path
            )
          )
        ).pipe(Layer.provide(PiEnvironment.layer(cwd)))

    const hydration = yield* Effect.flatMap(Hydrate, (service) =>
      service.hydrate(place.ref, cwd, {
        mode: input.mode,
        tools: input.tools,
        keepCwd: input.keepCwd,
        force: input.force,
        ...Option.match(input.session, { onNone: () => ({}), onSome: (sessionId) => ({ sessionId }) })
      })
    ).pipe(
      Effect.provide(Layer.mergeAll(Hydrate.layer.pipe(Layer.provide(place.threads)), target)),
      Effect.catchTag("SessionNotInThread", (error) => Effect.fail(new UsageError({ text: error.message }))),
      Effect.mapError((error) => (error._tag === "UsageError" ? error : new CommandFailed({ text: error.message })))
    )
    for (const warning of hydration.warnings) yield* invocation.note(`warning: ${warning}`)
    for (const line of describe(hydration)) yield* invocation.note(line)
    yield* invocation.result(input.json ? JSON.stringify(hydration, null, 2) : hydration.path)
  })
).pipe(
  Command.withDescription("Rebuild a Pi session from a thread, so that the real Pi continues it here"),
  Command.withExamples([
    {
      command: "pi-sessions hydrate --thread thread.jsonl",
      description: "Into Pi's session directory for this folder"
    },
    {
      command: "pi --session $(pi-sessions hydrate --thread thread.jsonl --out session.jsonl)",
      description: "Continue the conversation at once"
    },
    { command: "pi-sessions hydrate --thread - --cwd /sandbox < thread.jsonl", description: "From standard input" },
    {
      command: "ARBE_URL=https://arbe.example ARBE_TOKEN=... pi-sessions hydrate --thread th_1",
      description: "From a server of threads"
    }
  ])
)
