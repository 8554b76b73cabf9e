/** Runs `hydrate`. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type * as Stdio from "effect/Stdio"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import { Hydrate, type Hydration } from "@pi-sessions/reconstruction/Hydrate"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import { usage } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as NamedTarget from "../../flags/NamedTarget.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { type Input } from "../hydrate.ts"

const OUTCOMES: { readonly [K in Hydration["outcome"]]: string } = {
  created: "wrote",
  extended: "brought up to date",
  unchanged: "nothing to do for",
  ahead: "left as it is, Pi has gone on there:",
  replaced: "wrote"
}

const notes = ({ outcome, path, entries, mode, cwd, movedAside }: Hydration): ReadonlyArray<string> => {
  const how = mode === "lossless" ? "byte for byte" : "by meaning"
  return [
    `${OUTCOMES[outcome]} ${path} (${entries} entries, ${how}, for ${cwd})`,
    ...(movedAside === undefined ? [] : [`what was there is now ${movedAside}`]),
    `continue with: pi --session ${/[^\w./-]/.test(path) ? `'${path.replaceAll("'", `'\\''`)}'` : path}`
  ]
}

type Threads = Layer.Layer<ThreadSource, never, FileSystem.FileSystem | Path.Path | Stdio.Stdio>

/** The place of a thread: standard input, an existing file, or a thread on the server `ARBE_URL`, if that is set. */
const threadPlace = Effect.fnUntraced(function* (ref: string, path: string) {
  const fs = yield* FileSystem.FileSystem
  const url = yield* Config.option(Config.String("ARBE_URL"))
  const file: Threads = ThreadSource.layerFile
  const stdin: Threads = ThreadSource.layerStdin
  const http: Threads = ThreadSource.layerHttp().pipe(Layer.provide(FetchHttpClient.layer))
  if (ref === "-") return { ref, threads: stdin }
  const isThread = Option.isSome(url) && !(yield* Effect.orElseSucceed(fs.exists(path), () => true))
  return isThread ? { ref, threads: http } : { ref: path, threads: file }
})

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  yield* FlagCheck.all(
    FlagCheck.empty({ "--thread": input.thread }, "give a thread file, or - for standard input"),
    NamedTarget.check(input)
  )
  const cwd = yield* NamedTarget.realCwd(Option.getOrElse(input.cwd, () => invocation.cwd))
  const place = yield* threadPlace(input.thread, invocation.resolve(input.thread))
  const hydration = yield* Effect.flatMap(Hydrate, (service) =>
    service.hydrate(place.ref, cwd, {
      mode: input.mode,
      tools: input.tools,
      keepCwd: input.keepCwd,
      force: input.force,
      ...Option.match(input.session, { onNone: () => ({}), onSome: (sessionId) => ({ sessionId }) })
    })
  ).pipe(
    Effect.provide(Hydrate.layer.pipe(Layer.provide(place.threads))),
    Effect.provide((yield* NamedTarget.given(input)) ?? NamedTarget.piDirectory(cwd)),
    usage("SessionNotInThread")
  )
  for (const warning of hydration.warnings) yield* invocation.note(`warning: ${warning}`)
  for (const note of notes(hydration)) yield* invocation.note(note)
  yield* invocation.result(input.json ? JSON.stringify(hydration, null, 2) : hydration.path)
})
