/** The extension's settings, from the environment (README). */
import * as Os from "node:os"
import * as Path from "node:path"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import { ThreadSink } from "@pi-sessions/reconstruction/ThreadSink"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"

/** A setting; undefined when it is missing or empty. */
const text = (name: string) =>
  Config.option(Config.String(name)).pipe(
    Config.map(Option.map((value) => value.trim())),
    Config.map(Option.filter((value) => value !== "")),
    Config.map(Option.getOrUndefined)
  )

const environment = Config.all({
  url: text("ARBE_URL"),
  token: Config.option(Config.Redacted("ARBE_TOKEN")),
  threadId: text("ARBE_THREAD_ID"),
  directory: text("PI_MIRROR_DIR"),
  state: text("PI_MIRROR_STATE"),
  agentDir: text("PI_CODING_AGENT_DIR"),
  flush: Config.withDefault(Config.Duration("PI_MIRROR_FLUSH"), Duration.seconds(3))
})

export interface MirrorSettings {
  /** Identifies the sink. Holds no secret. */
  readonly sinkName: string
  readonly threadId: string | undefined
  readonly stateDirectory: string
  /** How long Pi may wait at the end of a session. */
  readonly flush: Duration.Duration
  readonly threads: ReturnType<typeof threadsIn> | ReturnType<typeof threadsAt>
}

const threadsIn = (directory: string) =>
  Layer.merge(ThreadSink.layerDirectory(directory), ThreadSource.layerDirectory(directory))

// No retries within a request: the mirror itself retries, and can end between attempts.
const threadsAt = (options: Parameters<typeof ThreadSink.layerHttp>[0]) =>
  Layer.merge(ThreadSink.layerHttp(options), ThreadSource.layerHttp(options)).pipe(Layer.provide(FetchHttpClient.layer))

/** Expands `~` to the home directory, as Pi does. */
const expanded = (path: string): string => (path === "~" || path.startsWith("~/") ? Os.homedir() + path.slice(1) : path)

/** The settings; undefined without `ARBE_URL` and `PI_MIRROR_DIR`. */
export const load = Effect.map(environment, (found): MirrorSettings | undefined => {
  const { threadId, flush } = found
  const agentDir = expanded(found.agentDir ?? "~/.pi/agent")
  const stateDirectory = Path.resolve(expanded(found.state ?? Path.join(agentDir, "pi-mirror")))
  if (found.directory !== undefined) {
    const directory = Path.resolve(expanded(found.directory))
    return { sinkName: `directory ${directory}`, threadId, stateDirectory, flush, threads: threadsIn(directory) }
  }
  if (found.url === undefined) return undefined
  const token = Option.getOrUndefined(found.token)
  const threads = threadsAt({ url: found.url, token, timeout: "30 seconds", retries: 0 })
  return { sinkName: `server ${withoutSecrets(found.url)}`, threadId, stateDirectory, flush, threads }
})

const withoutSecrets = (url: string): string => {
  const parsed = URL.parse(url)
  return parsed === null ? "" : `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`
}
