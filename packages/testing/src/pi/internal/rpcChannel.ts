/** The channel to a Pi in `--mode rpc`: JSON lines in both directions. Collects events and matches responses to requests. */
import type * as ChildProcess from "node:child_process"
import * as StringDecoder from "node:string_decoder"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

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

/** A command: its `type` and parameters. The id is added. */
export interface RpcCommand {
  readonly type: string
  readonly [key: string]: unknown
}

const messageIn = (line: string): RpcMessage | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return isRpcMessage(value) ? value : undefined
  } catch {
    return undefined
  }
}

export class RpcChannel<E> {
  /** All events so far, oldest first. */
  readonly events: Array<RpcMessage> = []
  stderr = ""
  readonly #child: ChildProcess.ChildProcessWithoutNullStreams
  readonly #limit: Duration.Duration
  readonly #failure: (what: string, reason: string, stderr: string) => E
  readonly #exited = Deferred.makeUnsafe<number>()
  readonly #responses = new Map<string, (response: RpcMessage) => void>()
  #watchers: Array<() => void> = []
  #nextId = 0

  constructor(
    child: ChildProcess.ChildProcessWithoutNullStreams,
    limit: Duration.Duration,
    failure: (what: string, reason: string, stderr: string) => E
  ) {
    this.#child = child
    this.#limit = limit
    this.#failure = failure
    child.stderr.on("data", (data: Buffer) => {
      this.stderr += data.toString()
    })
    // A killed Pi leaves a broken pipe.
    child.stdin.on("error", () => {})
    this.#readLines(child.stdout)
    child.once("error", (error) => {
      this.stderr += error.message
      this.#end(-1)
    })
    child.once("exit", (code, signal) => this.#end(code ?? (signal === null ? -1 : 128)))
  }

  /** Waits for the exit; 128 after a signal, -1 if Pi could not be started. */
  get exitCode(): Effect.Effect<number> {
    return Deferred.await(this.#exited)
  }

  isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  write(command: RpcCommand): void {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`)
  }

  /** Sends a command and returns the `data` of its response. */
  request(command: RpcCommand): Effect.Effect<unknown, E> {
    return Effect.suspend(() => {
      const id = `${this.#nextId++}`
      let response: RpcMessage | undefined
      this.#responses.set(id, (message) => {
        response = message
      })
      this.write({ ...command, id })
      return Effect.flatMap(
        this.until(`the answer to ${command.type}`, () => response),
        (answer): Effect.Effect<unknown, E> => {
          this.#responses.delete(id)
          if (answer.success === true) return Effect.succeed(answer.data)
          return Effect.fail(this.#failure(command.type, answer.error ?? "refused", this.stderr))
        }
      )
    })
  }

  /** Waits until `look` finds something. Uses the real clock: the limit must also hold under a test clock. */
  until<A>(what: string, look: () => A | undefined): Effect.Effect<A, E> {
    const failed = (reason: string) => Effect.fail(this.#failure(what, reason, this.stderr))
    return Effect.callback((resume) => {
      let done = false
      const end = (result: Effect.Effect<A, E>): void => {
        done = true
        clearTimeout(timer)
        resume(result)
      }
      const timer = setTimeout(
        () => end(failed(`nothing after ${Duration.format(this.#limit)}`)),
        Duration.toMillis(this.#limit)
      )
      const check = (): void => {
        if (done) return
        const found = look()
        if (found !== undefined) return end(Effect.succeed(found))
        if (this.isGone()) return end(failed("Pi has ended"))
        this.#watchers.push(check)
      }
      check()
      return Effect.sync(() => {
        done = true
        clearTimeout(timer)
      })
    })
  }

  /** Does not use readline, which ends lines at U+2028. */
  #readLines(stdout: NodeJS.ReadableStream): void {
    const decoder = new StringDecoder.StringDecoder("utf8")
    let begun = ""
    stdout.on("data", (data: Buffer) => {
      const lines = (begun + decoder.write(data)).split("\n")
      begun = lines.pop() ?? ""
      for (const line of lines) this.#take(line)
      this.#changed()
    })
  }

  #take(line: string): void {
    const message = messageIn(line)
    if (message === undefined) return
    if (message.type === "response" && message.id !== undefined) this.#responses.get(message.id)?.(message)
    else this.events.push(message)
  }

  #end(code: number): void {
    Deferred.doneUnsafe(this.#exited, Effect.succeed(code))
    this.#changed()
  }

  #changed(): void {
    const waiting = this.#watchers
    this.#watchers = []
    for (const watcher of waiting) watcher()
  }
}
