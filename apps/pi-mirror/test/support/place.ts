/** Runs a real Pi with the mirror in a temporary folder, and hydrates its threads. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { Hydrate } from "@pi-sessions/reconstruction/Hydrate"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import * as Dose from "@pi-sessions/testing/Dose"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import type * as PiAgentDir from "@pi-sessions/testing/pi/PiAgentDir"
import * as PiRpc from "@pi-sessions/testing/pi/PiRpc"
import { type PiVersion, versions } from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"

export const bundle = Path.resolve(import.meta.dirname, "../../dist/extension.js")
const craft = fileURLToPath(import.meta.resolve("@pi-sessions/testing/pi/CraftExtension"))

/** Answers by the words of the last user turn. */
export const script: ScriptedModel.Script = (() => {
  let flaky = 0
  return (request): ScriptedModel.ScriptedReply => {
    const last = request.messages.findLast(({ role }) => role === "user")
    const said = last === undefined ? "" : ScriptedModel.textOf(last)
    if (said.startsWith("you will fail")) return { status: 400, message: "scripted failure" }
    if (said.startsWith("be flaky") && flaky++ % 2 === 0) return { status: 503, message: "overloaded" }
    const answered = request.messages.at(-1)?.role === "tool"
    if (said.startsWith("please write") && !answered) {
      return {
        text: "I write it. 🧪",
        toolCalls: [{ name: "write", arguments: { path: "made.txt", content: "by the model\u2028é" } }]
      }
    }
    return {
      thinking: "hm, let me see",
      text: `about ${said.slice(0, 40)}: ${"words and words ".repeat(20)}\u2028 end`
    }
  }
})()

const settings = {
  defaultProvider: "fake",
  defaultModel: "fake-1",
  quietStartup: true,
  enableInstallTelemetry: false,
  retry: { enabled: true, maxRetries: 2, baseDelayMs: 1 },
  compaction: { enabled: true, reserveTokens: 1000, keepRecentTokens: 40 }
}

/** The Pi versions to test: in `pnpm test` one, because each start of a real Pi takes a second; in campaigns all. */
export const tested = (version: PiVersion): ReadonlyArray<PiVersion> => (Dose.isCampaign() ? versions : [version])

export interface Place {
  readonly pi: HermeticPi.HermeticPi
  /** The directory of threads. */
  readonly threads: string
  readonly threadId: string
  readonly start: (
    version: PiVersion,
    options: {
      readonly args?: ReadonlyArray<string>
      readonly state?: string
      readonly env?: Readonly<Record<string, string>>
      readonly model?: PiAgentDir.ModelId
    }
  ) => ReturnType<typeof PiRpc.start>
}

export const make = Effect.fnUntraced(function* (modelScript: ScriptedModel.Script = script) {
  const pi = yield* HermeticPi.make(modelScript)
  const threads = Path.join(pi.root, "threads")
  for (const version of versions) {
    FileSystem.writeFileSync(Path.join(pi.agentDir(version), "settings.json"), JSON.stringify(settings))
  }
  const place: Place = {
    pi,
    threads,
    threadId: "th_mirror",
    start: (version, options) =>
      PiRpc.start(version, {
        agentDir: pi.agentDir(version),
        cwd: pi.cwd,
        home: pi.home,
        model: options.model ?? "fake-thinking",
        extensions: [bundle, craft],
        args: options.args ?? ["--session-dir", pi.sessionDir],
        env: {
          PI_MIRROR_DIR: threads,
          PI_MIRROR_STATE: Path.join(pi.root, options.state ?? "state"),
          PI_MIRROR_FLUSH: "1 minute",
          ARBE_THREAD_ID: "th_mirror",
          ...options.env
        }
      })
  }
  return place
})

/** Hydrates a session of a thread, byte for byte, to `target`. */
export const hydrate = (
  place: Place,
  sessionId: string,
  target: string,
  options: { readonly cwd?: string; readonly threadId?: string } = {}
) =>
  Effect.flatMap(Hydrate, (service) =>
    service.hydratePiSessionFromThread(options.threadId ?? place.threadId, options.cwd ?? place.pi.cwd, target, {
      mode: "lossless",
      sessionId,
      keepCwd: options.cwd === undefined
    })
  ).pipe(
    Effect.provide(
      Hydrate.layer.pipe(
        Layer.provide(ThreadSource.layerDirectory(place.threads)),
        Layer.provideMerge(NodeServices.layer)
      )
    )
  )

export interface Line {
  readonly type?: string
  readonly id?: string
  readonly [key: string]: unknown
}

/** The objects in a JSONL file; other lines are skipped. */
export const linesOf = (file: string): ReadonlyArray<Line> =>
  FileSystem.readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line): ReadonlyArray<Line> => {
      try {
        return line === "" ? [] : [JSON.parse(line)]
      } catch {
        return []
      }
    })

/** The id in a session file's header. */
export const sessionIdOf = (file: string): string => linesOf(file)[0]?.id ?? ""
