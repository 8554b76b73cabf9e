/** Mirrors one session of Pi. No call throws or waits, except for limited times at the session's start and end. */
import * as Fs from "node:fs"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Result from "effect/Result"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { type Json } from "@pi-sessions/core/Json"
import { Mirror } from "@pi-sessions/reconstruction/Mirror"
import { type ChunkDelta } from "@pi-sessions/reconstruction/mirror/MirrorChunks"
import { type RequestContext } from "@pi-sessions/reconstruction/mirror/RequestContext"
import * as MirrorSettings from "./MirrorSettings.ts"
import { type MessageUpdate, type PiApi, type PiContext, type SessionStart } from "./PiApi.ts"

const DELTAS: { readonly [type: string]: ChunkDelta["type"] } = {
  text_delta: "text",
  thinking_delta: "thinking",
  toolcall_delta: "toolCall"
}

/**
 * Key of the thread of this process's first session. Pi loads the extension again for each session, so the thread is a
 * global. It is not in the environment, because the model's tools inherit that.
 */
const PROCESS_THREAD = Symbol.for("@pi-sessions/pi-mirror/thread")

const processThread = (): string | undefined => {
  const thread: unknown = Reflect.get(globalThis, PROCESS_THREAD)
  return typeof thread === "string" ? thread : undefined
}

export interface PiMirror {
  /** Resolves when the session is on record, so that the next start finds it, or after `OPEN_LIMIT`. */
  readonly opened: Promise<void>
  readonly poke: () => void
  readonly update: (event: MessageUpdate) => void
  /** Mirrors the system prompt and the tools of the next request. */
  readonly request: (context: PiContext) => void
  /** Sends the missing lines within the flush time, and ends. */
  readonly close: () => Promise<void>
}

/** Shows a message: as a notice where there is a user interface, else errors as one line on stderr. */
const show = (context: PiContext, kind: "error" | "warning", message: string): void => {
  const line = `pi-mirror: ${message}`
  try {
    if (context.hasUI) return context.ui.notify(line, kind)
  } catch {
    // The context throws once its session was replaced.
  }
  if (kind === "error") process.stderr.write(`${line}\n`)
}

/** How long the start of a session may wait, in milliseconds. Opening writes one small file. */
const OPEN_LIMIT = 1000

/** Waits until `work` ends or fails, at most `limit` milliseconds. */
const within = async (limit: number, work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit)
  })
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}

/** Starts to mirror the current session; undefined when Pi does not save it, or no place for threads is set. */
export const start = (pi: PiApi, event: SessionStart, context: PiContext): PiMirror | undefined => {
  const file = context.sessionManager.getSessionFile()
  const loaded = Effect.runSync(Effect.result(MirrorSettings.load))
  if (Result.isFailure(loaded)) {
    show(context, "error", `a setting cannot be read: ${loaded.failure.message}`)
    return undefined
  }
  if (file === undefined || loaded.success === undefined) return undefined
  const { flush, threadId } = loaded.success
  const sessionId = context.sessionManager.getSessionId()
  const fallbackThreadId = (event.reason === "startup" ? undefined : processThread()) ?? `pi_${sessionId}`
  const fresh = event.reason === "new" || event.reason === "fork" || !Fs.existsSync(file)

  const runtime = ManagedRuntime.make(mirrorLayer(loaded.success, context))
  let mirror: Mirror["Service"] | undefined
  let pending: Promise<unknown> = Promise.resolve()
  const opening = Effect.gen(function* () {
    const service = yield* Mirror
    const thread = yield* service.open({ file, sessionId, threadId, fallbackThreadId, fresh })
    Reflect.set(globalThis, PROCESS_THREAD, thread)
    mirror = service
  })
  const opened = runtime.runPromise(opening).catch((error: unknown) => show(context, "error", String(error)))

  const run = (use: (service: Mirror["Service"]) => Effect.Effect<unknown>): void => {
    if (mirror !== undefined) runtime.runFork(use(mirror))
  }
  const end = async (): Promise<void> => {
    await opened
    await pending
    if (mirror !== undefined) await runtime.runPromise(mirror.flush(flush))
    await runtime.dispose()
  }

  return {
    opened: within(OPEN_LIMIT, opened),
    poke: () => run(({ poke }) => poke),
    update: ({ message, assistantMessageEvent }) => {
      const delta = deltaOf(assistantMessageEvent)
      if (delta === undefined) return
      const messageId = `${sessionId}-${typeof message.timestamp === "number" ? message.timestamp : 0}`
      run((service) => service.delta(messageId, delta))
    },
    request: (context) => {
      const sent = requestContextOf(pi, context)
      // The first request may come before `opened`.
      pending = Promise.all([pending, opened]).then(() =>
        mirror === undefined ? undefined : runtime.runPromise(mirror.requestContext(sent)).catch(() => {})
      )
    },
    close: () => within(Duration.toMillis(flush) + 500, end())
  }
}

const mirrorLayer = ({ sinkName, stateDirectory, threads }: MirrorSettings.MirrorSettings, context: PiContext) =>
  Mirror.layer({
    sinkName,
    stateDirectory,
    report: (kind, message) => Effect.sync(() => show(context, kind, message))
  }).pipe(Layer.provide(threads), Layer.provide([NodeFileSystem.layer, NodePath.layer]))

/** The piece of an answer in an event; undefined for events without text. */
const deltaOf = (event: MessageUpdate["assistantMessageEvent"]): ChunkDelta | undefined => {
  const { contentIndex, delta } = event
  const type = DELTAS[event.type]
  if (type === undefined || typeof delta !== "string") return undefined
  return { type, text: delta, contentIndex: typeof contentIndex === "number" ? contentIndex : 0 }
}

const requestContextOf = (pi: PiApi, context: PiContext): RequestContext => {
  const active = new Set(pi.getActiveTools())
  const tools = pi.getAllTools().flatMap(({ name, description, parameters }) => {
    if (!active.has(name)) return []
    const schema: Json = JSON.parse(JSON.stringify(parameters ?? null))
    return [{ name, description, parameters: schema }]
  })
  const afterEntryId = context.sessionManager.getLeafId() ?? undefined
  return { systemPrompt: context.getSystemPrompt(), tools, afterEntryId }
}
