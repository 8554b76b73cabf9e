/** Hydrates by what the environment and the flags say; the whole program, for main.ts to run and tests to call. */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Hydrate, type Hydration } from "@pi-sessions/reconstruction/Hydrate"
import { fileName } from "@pi-sessions/reconstruction/ThreadFile"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import { basename, join } from "node:path"

/** A setting is missing or wrong: exit status 2. */
export class WrongUsage extends Schema.TaggedError<WrongUsage>()("WrongUsage", { text: Schema.String }) {
  override get message(): string {
    return this.text
  }
}

const text = (name: string) =>
  Config.option(Config.String(name)).pipe(Config.map((value) => Option.filter(value, (given) => given !== "")))

const settings = Config.all({
  thread: text("ARBE_THREAD_ID"),
  file: text("SANDBOX_THREAD_FILE"),
  url: text("ARBE_URL"),
  cwd: text("SANDBOX_CWD"),
  out: text("SANDBOX_SESSION_FILE"),
  sessionDir: text("SANDBOX_SESSION_DIR"),
  sessionId: text("SANDBOX_SESSION_ID"),
  mode: Config.Literals(["auto", "lossless", "semantic"], "SANDBOX_MODE").pipe(Config.withDefault("auto")),
  tools: Config.Literals(["pairs", "flatten", "omit"], "SANDBOX_TOOLS").pipe(Config.withDefault("pairs"))
})

/** Hydrates once. `overrides` are settings by the names of their variables, and beat the environment. */
export const hydrate = Effect.fn("SandboxHydrate.hydrate")(
  function* (_overrides: { readonly [variable: string]: string }) {
    const given = yield* settings.pipe(
      Effect.mapError((error) => new WrongUsage({ text: error.message.replace(/\s+/g, " ") }))
    )
    const cwd = Option.getOrElse(given.cwd, () => process.cwd())
    const ref = Option.orElse(given.file, () => given.thread)
    if (Option.isNone(ref)) {
      return yield* new WrongUsage({ text: "which thread? Set ARBE_THREAD_ID, or give --thread ID or --file PATH" })
    }
    if (Option.isNone(given.file) && Option.isNone(given.url)) {
      return yield* new WrongUsage({ text: "where is the thread? Set ARBE_URL, or give --url URL or --file PATH" })
    }
    const folder = Option.getOrElse(given.thread, () => basename(ref.value).replace(/\.jsonl?$/, ""))
    const target = Option.match(given.out, {
      onSome: SessionTarget.layerFile,
      onNone: () =>
        SessionTarget.layerDirectory(
          Option.getOrElse(given.sessionDir, () => join("arbe-sessions", fileName(folder).replace(/\.jsonl$/, "")))
        )
    })
    const threads = Option.isSome(given.file)
      ? ThreadSource.layerFile
      : ThreadSource.layerHttp().pipe(
          Layer.provide((yield* Effect.promise(() => import("effect/http/FetchHttpClient"))).layer)
        )
    const hydration: Hydration = yield* Effect.flatMap(Hydrate, (service) =>
      service.hydrate(ref.value, cwd, {
        mode: given.mode,
        tools: given.tools,
        ...Option.match(given.sessionId, { onNone: () => ({}), onSome: (sessionId) => ({ sessionId }) })
      })
    ).pipe(Effect.provide(Layer.mergeAll(Hydrate.layer.pipe(Layer.provide(threads)), target)))
    return hydration
  },
  (effect, overrides) =>
    Effect.provide(effect, ConfigProvider.layerAdd(ConfigProvider.fromUnknown(overrides), { asPrimary: true }))
)
