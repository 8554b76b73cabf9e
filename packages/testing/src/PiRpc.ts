/**
 * Controls a real Pi in `--mode rpc`: commands and events are JSON, one object a line. As isolated as `PiProcess`, with
 * the caller's extensions.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as ChildProcess from "node:child_process"
import * as process from "node:process"
import * as StringDecoder from "node:string_decoder"
import type * as PiAgentDir from "./PiAgentDir.ts"
import * as PiProcess from "./PiProcess.ts"
import * as PiVersion from "./PiVersion.ts"

/** Anything that Pi writes: an event, or a response. Unknown keys are kept. */
export const RpcMessage = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.String,
    id: Schema.optionalKey(Schema.String),
    success: Schema.optionalKey(Schema.Boolean),
    error: Schema.optionalKey(Schema.String),
    data: Schema.optionalKey(Schema.Unknown)
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
export type RpcMessage = typeof RpcMessage.Type

const isRpcMessage = Schema.is(RpcMessage)

/** How to start Pi. */
export interface PiRpcOptions {
  readonly agentDir: string
  readonly cwd: string
  readonly home: string
  /** Paths of extensions to load. */
  readonly extensions?: ReadonlyArray<string> | undefined
  /** More arguments, such as `--session FILE`. */
  readonly args?: ReadonlyArray<string> | undefined
  /** The model to request; null leaves the choice to Pi. Default: `fake-1`. */
  readonly model?: PiAgentDir.ModelId | null | undefined
  /** More variables of the environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Maximum duration of one answer by the real clock. Default: 2 minutes. */
  readonly timeout?: Duration.Input | undefined
}

/** Pi refused a command, ended before it answered, or took too long. */
export class PiRpcError extends Schema.TaggedError<PiRpcError>()("PiRpcError", {
  version: Schema.String,
  what: Schema.String,
  reason: Schema.String,
  stderr: Schema.String
}) {
  override get message(): string {
    return `Pi ${this.version}, ${this.what}: ${this.reason}\n${this.stderr}`
  }
}

/** A command: its `type` and parameters. The id is added. */
export interface RpcCommand {
  readonly type: string
  readonly [key: string]: unknown
}

/** A running Pi. */
export interface PiRpc {
  readonly pid: number
  /** Sends a command and returns the `data` of its response. Fails if Pi refuses it. */
  readonly request: (command: RpcCommand) => Effect.Effect<unknown, PiRpcError>
  /** Sends a command without waiting. */
  readonly send: (command: RpcCommand) => Effect.Effect<void>
  /** All events so far, oldest first. */
  readonly events: Effect.Effect<ReadonlyArray<RpcMessage>>
  /** Waits for the first event that `matches`, from event number `from` on. */
  readonly event: (matches: (event: RpcMessage) => boolean, from?: number) => Effect.Effect<RpcMessage, PiRpcError>
  /** Prompts and waits until Pi is idle. Commands of extensions end when they are answered. */
  readonly prompt: (
    message: string,
    rest?: Readonly<Record<string, unknown>>
  ) => Effect.Effect<ReadonlyArray<RpcMessage>, PiRpcError>
  /** Closes Pi's input, which ends it. Returns its exit code. */
  readonly stop: Effect.Effect<number, PiRpcError>
  /** `kill -9`, then waits until the process is gone. */
  readonly kill: Effect.Effect<void>
  readonly stderr: Effect.Effect<string>
}

const commandLine = (version: PiVersion.PiVersion, options: PiRpcOptions): ReadonlyArray<string> => {
  const model = options.model === undefined ? "fake-1" : options.model
  return [
    PiVersion.cliPath(version),
    "--mode",
    "rpc",
    ...PiProcess.hermeticFlags(version, model),
    ...(options.extensions ?? []).flatMap((path) => ["--extension", path]),
    ...(options.args ?? [])
  ]
}

const messageIn = (line: string): RpcMessage | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return isRpcMessage(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Starts Pi; it is killed when the scope closes. */
export const start = Effect.fnUntraced(function* (
  version: PiVersion.PiVersion,
  options: PiRpcOptions
): Effect.fn.Return<PiRpc, never, Scope.Scope> {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      ChildProcess.spawn(process.execPath, [...commandLine(version, options)], {
        cwd: options.cwd,
        env: PiProcess.environment(options)
      })
    ),
    (child) =>
      Effect.callback<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )
  const exited = yield* Deferred.make<number>()
  const events: Array<RpcMessage> = []
  const responses = new Map<string, (response: RpcMessage) => void>()
  let watchers: Array<() => void> = []
  let stderr = ""
  let nextId = 0
  const changed = (): void => {
    const waiting = watchers
    watchers = []
    for (const watcher of waiting) watcher()
  }
  child.stderr.on("data", (data: Buffer) => {
    stderr += data.toString()
  })
  // A killed Pi leaves a broken pipe.
  child.stdin.on("error", () => {})
  const read = (line: string): void => {
    const message = messageIn(line)
    if (message === undefined) return
    if (message.type === "response" && message.id !== undefined) responses.get(message.id)?.(message)
    else events.push(message)
  }
  // Not readline: it takes U+2028 for the end of a line.
  const decoder = new StringDecoder.StringDecoder("utf8")
  let begun = ""
  child.stdout.on("data", (data: Buffer) => {
    const lines = (begun + decoder.write(data)).split("\n")
    begun = lines.pop() ?? ""
    for (const line of lines) read(line)
    changed()
  })
  child.once("error", (error) => {
    stderr += error.message
    Deferred.doneUnsafe(exited, Effect.succeed(-1))
    changed()
  })
  child.once("exit", (code, signal) => {
    Deferred.doneUnsafe(exited, Effect.succeed(code ?? (signal === null ? -1 : 128)))
    changed()
  })

  const failure = (what: string, reason: string) => new PiRpcError({ version, what, reason, stderr })
  const limit = Duration.fromInputUnsafe(options.timeout ?? "2 minutes")

  /** Waits until `look` finds something. Uses the real clock: the limit must also hold under a test clock. */
  const until = <A>(what: string, look: () => A | undefined): Effect.Effect<A, PiRpcError> =>
    Effect.callback((resume) => {
      let done = false
      const end = (result: Effect.Effect<A, PiRpcError>): void => {
        done = true
        clearTimeout(timer)
        resume(result)
      }
      const timer = setTimeout(
        () => end(Effect.fail(failure(what, `nothing after ${Duration.format(limit)}`))),
        Duration.toMillis(limit)
      )
      const check = (): void => {
        if (done) return
        const found = look()
        if (found !== undefined) return end(Effect.succeed(found))
        if (child.exitCode !== null || child.signalCode !== null) return end(Effect.fail(failure(what, "Pi has ended")))
        watchers.push(check)
      }
      check()
      return Effect.sync(() => {
        done = true
        clearTimeout(timer)
      })
    })

  const write = (command: RpcCommand) =>
    Effect.sync(() => {
      child.stdin.write(`${JSON.stringify(command)}\n`)
    })

  const request = Effect.fnUntraced(function* (command: RpcCommand) {
    const id = `${nextId++}`
    let response: RpcMessage | undefined
    responses.set(id, (message) => {
      response = message
    })
    yield* write({ ...command, id })
    const answer = yield* until(`the answer to ${command.type}`, () => response)
    responses.delete(id)
    if (answer.success !== true) return yield* failure(command.type, answer.error ?? "refused")
    return answer.data
  })

  const event = (matches: (event: RpcMessage) => boolean, from = 0) => {
    let at = from
    return until("an event", () => {
      for (; at < events.length; at++) {
        const event = events[at]
        if (event !== undefined && matches(event)) return event
      }
      return undefined
    })
  }

  const prompt = Effect.fnUntraced(function* (message: string, rest: Readonly<Record<string, unknown>> = {}) {
    const from = events.length
    yield* request({ ...rest, type: "prompt", message })
    if (!message.startsWith("/")) {
      yield* event(({ type, willRetry }) => type === "agent_end" && willRetry !== true, from)
      // 1.5 persists and compacts before it says so; 0.78 says nothing, and answers when it is done.
      if (version !== "0.78") yield* event(({ type }) => type === "agent_settled", from)
    }
    yield* request({ type: "get_state" })
    return events.slice(from)
  })

  const gone = Deferred.await(exited)
  return {
    pid: child.pid ?? -1,
    request,
    send: write,
    events: Effect.sync(() => [...events]),
    event,
    prompt,
    stop: Effect.suspend(() => {
      child.stdin.end()
      return until("its end", () => (child.exitCode === null && child.signalCode === null ? undefined : true)).pipe(
        Effect.catch((error) =>
          child.exitCode === null && child.signalCode === null ? Effect.fail(error) : Effect.void
        ),
        Effect.andThen(gone)
      )
    }),
    kill: Effect.suspend(() => {
      child.kill("SIGKILL")
      return Effect.asVoid(gone)
    }),
    stderr: Effect.sync(() => stderr)
  }
})
