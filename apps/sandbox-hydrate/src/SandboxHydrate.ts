/** Hydrates with settings from environment and flags. main.ts and tests call it. */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Hydrate, type Hydration, MODES } from "@pi-sessions/reconstruction/Hydrate"
import { TOOL_MODES } from "@pi-sessions/reconstruction/hydrate/SemanticHydration"
import { fileName } from "@pi-sessions/reconstruction/thread/ThreadFile"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import { basename, join } from "node:path"

/** A setting is missing or wrong: exit status 2. */
export class WrongUsage extends Schema.TaggedError<WrongUsage>()("WrongUsage", { message: Schema.String }) {}

/** A setting that must be one of `choices`. Default: the first. */
const oneOf = <Choice extends string>(
  variable: string,
  given: string | undefined,
  choices: readonly [Choice, ...ReadonlyArray<Choice>]
): Effect.Effect<Choice, WrongUsage> => {
  const chosen = given === undefined ? choices[0] : choices.find((choice) => choice === given)
  return chosen === undefined
    ? Effect.fail(new WrongUsage({ message: `${variable}=${JSON.stringify(given)} is none of ${choices.join(", ")}` }))
    : Effect.succeed(chosen)
}

const text = (name: string) =>
  Config.option(Config.String(name)).pipe(Config.map((value) => Option.getOrUndefined(value) || undefined))

const settings = Config.all({
  thread: text("ARBE_THREAD_ID"),
  file: text("SANDBOX_THREAD_FILE"),
  url: text("ARBE_URL"),
  cwd: text("SANDBOX_CWD"),
  out: text("SANDBOX_SESSION_FILE"),
  sessionDir: text("SANDBOX_SESSION_DIR"),
  sessionId: text("SANDBOX_SESSION_ID"),
  mode: text("SANDBOX_MODE"),
  tools: text("SANDBOX_TOOLS")
})

/** Hydrates once. `overrides` are settings by the names of their variables; they override the environment. */
export const hydrate = Effect.fn("SandboxHydrate.hydrate")(
  function* (_overrides: { readonly [variable: string]: string }) {
    const given = yield* settings.pipe(
      Effect.mapError((error) => new WrongUsage({ message: error.message.replace(/\s+/g, " ") }))
    )
    const mode = yield* oneOf("SANDBOX_MODE", given.mode, MODES)
    const tools = yield* oneOf("SANDBOX_TOOLS", given.tools, TOOL_MODES)
    const ref = given.file ?? given.thread
    if (ref === undefined) {
      return yield* new WrongUsage({ message: "which thread? Set ARBE_THREAD_ID, or give --thread ID or --file PATH" })
    }
    if (given.file === undefined && given.url === undefined) {
      return yield* new WrongUsage({ message: "where is the thread? Set ARBE_URL, or give --url URL or --file PATH" })
    }
    const folder = given.thread ?? basename(ref).replace(/\.jsonl?$/, "")
    const target =
      given.out === undefined
        ? SessionTarget.layerDirectory(
            given.sessionDir ?? join("arbe-sessions", fileName(folder).replace(/\.jsonl$/, ""))
          )
        : SessionTarget.layerFile(given.out)
    // The HTTP client is loaded only for a server, to start faster.
    const threads =
      given.file === undefined
        ? ThreadSource.layerHttp().pipe(
            Layer.provide((yield* Effect.promise(() => import("effect/http/FetchHttpClient"))).layer)
          )
        : ThreadSource.layerFile
    const { sessionId } = given
    const hydration: Hydration = yield* Effect.flatMap(Hydrate, (service) =>
      service.hydrate(ref, given.cwd ?? process.cwd(), {
        mode,
        tools,
        ...(sessionId === undefined ? {} : { sessionId })
      })
    ).pipe(Effect.provide(Layer.mergeAll(Hydrate.layer.pipe(Layer.provide(threads)), target)))
    return hydration
  },
  (effect, overrides) =>
    Effect.provide(effect, ConfigProvider.layerAdd(ConfigProvider.fromUnknown(overrides), { asPrimary: true }))
)
