/**
 * One session of Pi, mirrored. Pi calls; nothing here throws into it or keeps it waiting, except for the bounded flush
 * at the end of the session.
 */
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
import * as MirrorSettings from "./MirrorSettings.ts"
import { type MessageUpdate, type PiApi, type PiContext, type SessionStart } from "./PiApi.ts"

const DELTAS: { readonly [type: string]: ChunkDelta["type"] } = {
  text_delta: "text",
  thinking_delta: "thinking",
  toolcall_delta: "toolCall"
}

/**
 * The thread of this process's first session. Pi loads the extension anew for each session, so it is kept where all
 * of them find it; and not in the environment, which the tools of the model inherit.
 */
const PROCESS_THREAD = Symbol.for("@pi-sessions/pi-mirror/thread")

const processThread = (): string | undefined => {
  const thread: unknown = Reflect.get(globalThis, PROCESS_THREAD)
  return typeof thread === "string" ? thread : undefined
}

export interface PiMirror {
  /** Done when the session is on record, so that the next start finds it whatever becomes of this one. Bounded. */
  readonly opened: Promise<void>
  readonly poke: () => void
  readonly update: (event: MessageUpdate) => void
  /** Tells what the model is about to be told. */
  readonly request: (context: PiContext) => void
  /** Sends what there is, for a bounded time, and ends. */
  readonly close: () => Promise<void>
}

/** Shows a message once: to a person if one looks, else as one line on stderr. */
const show = (context: PiContext, kind: "error" | "warning", message: string): void => {
  const line = `pi-mirror: ${message}`
  try {
    if (context.hasUI) return context.ui.notify(line, kind)
  } catch {
    // The session was replaced, and its context with it.
  }
  if (kind === "error") process.stderr.write(`${line}\n`)
}

/** How long the start of a session may be held up, in milliseconds. It takes one small file, so a few of them. */
const OPEN_LIMIT = 1000

/** Waits for `work`, whatever comes of it, but no longer than `limit` milliseconds. */
const within = async (limit: number, work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit)
  })
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}

/** Starts to mirror the session that Pi is in; undefined when it is not kept, or no place for threads is set. */
export const start = (pi: PiApi, event: SessionStart, context: PiContext): PiMirror | undefined => {
  const file = context.sessionManager.getSessionFile()
  const loaded = Effect.runSync(Effect.result(MirrorSettings.load))
  if (Result.isFailure(loaded)) {
    show(context, "error", `a setting cannot be read: ${loaded.failure.message}`)
    return undefined
  }
  const settings = loaded.success
  if (file === undefined || settings === undefined) return undefined
  const sessionId = context.sessionManager.getSessionId()
  const fallbackThreadId = (event.reason === "startup" ? undefined : processThread()) ?? `pi_${sessionId}`
  const fresh = event.reason === "new" || event.reason === "fork" || !Fs.existsSync(file)
  const { sinkName, stateDirectory, flush, threadId } = settings
  const report = (kind: "error" | "warning", message: string) => Effect.sync(() => show(context, kind, message))

  const runtime = ManagedRuntime.make(
    Mirror.layer({ sinkName, stateDirectory, report }).pipe(
      Layer.provide(settings.threads),
      Layer.provide([NodeFileSystem.layer, NodePath.layer])
    )
  )
  let mirror: Mirror["Service"] | undefined
  let pending: Promise<unknown> = Promise.resolve()
  const opened = runtime
    .runPromise(
      Effect.gen(function* () {
        const service = yield* Mirror
        const thread = yield* service.open({ file, sessionId, threadId, fallbackThreadId, fresh })
        Reflect.set(globalThis, PROCESS_THREAD, thread)
        mirror = service
      })
    )
    .catch((error: unknown) => show(context, "error", String(error)))

  const run = (use: (service: Mirror["Service"]) => Effect.Effect<unknown>): void => {
    if (mirror !== undefined) runtime.runFork(use(mirror))
  }

  return {
    opened: within(OPEN_LIMIT, opened),
    poke: () => run(({ poke }) => poke),
    update: ({ message, assistantMessageEvent: { type, contentIndex, delta } }) => {
      const kind = DELTAS[type]
      if (kind === undefined || typeof delta !== "string") return
      const messageId = `${sessionId}-${typeof message.timestamp === "number" ? message.timestamp : 0}`
      const index = typeof contentIndex === "number" ? contentIndex : 0
      run((service) => service.delta(messageId, { type: kind, text: delta, contentIndex: index }))
    },
    request: (context) => {
      const active = new Set(pi.getActiveTools())
      const tools = pi.getAllTools().flatMap(({ name, description, parameters }) => {
        if (!active.has(name)) return []
        const schema: Json = JSON.parse(JSON.stringify(parameters ?? null))
        return [{ name, description, parameters: schema }]
      })
      const systemPrompt = context.getSystemPrompt()
      const afterEntryId = context.sessionManager.getLeafId() ?? undefined
      // The first prompt may come before the mirror stands.
      pending = Promise.all([pending, opened]).then(() =>
        mirror === undefined
          ? undefined
          : runtime.runPromise(mirror.requestContext({ systemPrompt, tools, afterEntryId })).catch(() => {})
      )
    },
    close: async () => {
      const end = async () => {
        await opened
        await pending
        if (mirror !== undefined) await runtime.runPromise(mirror.flush(flush))
        await runtime.dispose()
      }
      await within(Duration.toMillis(flush) + 500, end())
    }
  }
}
