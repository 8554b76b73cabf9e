/**
 * Controls a real Pi in `--mode rpc`: commands and events are JSON, one object a line. As isolated as `PiProcess`, with
 * the caller's extensions.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as ChildProcess from "node:child_process"
import * as process from "node:process"
import { RpcChannel, type RpcCommand, type RpcMessage } from "./internal/rpcChannel.ts"
import type * as PiAgentDir from "./PiAgentDir.ts"
import * as PiProcess from "./PiProcess.ts"
import * as PiVersion from "./PiVersion.ts"

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

/** Starts Pi. Kills it when the scope closes. */
export const start = Effect.fnUntraced(function* (
  version: PiVersion.PiVersion,
  options: PiRpcOptions
): Effect.fn.Return<PiRpc, never, Scope.Scope> {
  const child = yield* spawn(version, options)
  const limit = Duration.fromInputUnsafe(options.timeout ?? "2 minutes")
  const channel = new RpcChannel(
    child,
    limit,
    (what, reason, stderr) => new PiRpcError({ version, what, reason, stderr })
  )
  const { events } = channel

  const event: PiRpc["event"] = (matches, from = 0) => {
    let at = from
    return channel.until("an event", () => {
      for (; at < events.length; at++) {
        const event = events[at]
        if (event !== undefined && matches(event)) return event
      }
      return undefined
    })
  }

  const prompt = Effect.fnUntraced(function* (message: string, rest: Readonly<Record<string, unknown>> = {}) {
    const from = events.length
    yield* channel.request({ ...rest, type: "prompt", message })
    if (!message.startsWith("/")) {
      yield* event(({ type, willRetry }) => type === "agent_end" && willRetry !== true, from)
      // 1.5 persists and compacts before it reports the end. 0.78 has no such event, and answers when it is done.
      if (version !== "0.78") yield* event(({ type }) => type === "agent_settled", from)
    }
    yield* channel.request({ type: "get_state" })
    return events.slice(from)
  })

  return {
    pid: child.pid ?? -1,
    request: (command) => channel.request(command),
    send: (command) => Effect.sync(() => channel.write(command)),
    events: Effect.sync(() => [...events]),
    event,
    prompt,
    stop: Effect.suspend(() => {
      child.stdin.end()
      return channel
        .until("its end", () => (channel.isGone() ? true : undefined))
        .pipe(
          Effect.catch((error) => (channel.isGone() ? Effect.void : Effect.fail(error))),
          Effect.andThen(channel.exitCode)
        )
    }),
    kill: Effect.suspend(() => {
      child.kill("SIGKILL")
      return Effect.asVoid(channel.exitCode)
    }),
    stderr: Effect.sync(() => channel.stderr)
  }
})

const spawn = (version: PiVersion.PiVersion, options: PiRpcOptions) =>
  Effect.acquireRelease(
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
