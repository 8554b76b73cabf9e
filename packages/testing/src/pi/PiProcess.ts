/**
 * Runs a real Pi as a process, isolated from the machine: its own environment, no network, no extensions, skills,
 * prompt templates, context files or MCP servers except those of the caller.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ChildProcess from "node:child_process"
import * as process from "node:process"
import type * as PiAgentDir from "./PiAgentDir.ts"
import * as PiVersion from "./PiVersion.ts"

/** How to run Pi. */
export interface PiProcessOptions {
  readonly agentDir: string
  readonly cwd: string
  readonly home: string
  /** The arguments after the hermetic flags. */
  readonly args: ReadonlyArray<string>
  /** The model to request; null leaves the choice to Pi. Default: `fake-1`. */
  readonly model?: PiAgentDir.ModelId | null | undefined
  /** Pi's standard input. Default: empty. */
  readonly stdin?: string | undefined
  /** More variables of the environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Maximum duration by the real clock. Default: 2 minutes. */
  readonly timeout?: Duration.Input | undefined
}

/** How Pi ended. */
export interface PiExit {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Pi could not be started, took too long, or was killed. */
export class PiProcessError extends Schema.TaggedError<PiProcessError>()("PiProcessError", {
  version: Schema.String,
  args: Schema.Array(Schema.String),
  reason: Schema.String,
  stdout: Schema.String,
  stderr: Schema.String
}) {
  override get message(): string {
    return `Pi ${this.version} ${this.args.join(" ")}: ${this.reason}\n${this.stderr}`
  }
}

/** The complete environment of a hermetic Pi. */
export const environment = (options: Pick<PiProcessOptions, "home" | "agentDir" | "env">): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: options.home,
  LANG: "C.UTF-8",
  NO_COLOR: "1",
  PI_CODING_AGENT_DIR: options.agentDir,
  PI_OFFLINE: "1",
  PI_SKIP_VERSION_CHECK: "1",
  PI_TELEMETRY: "0",
  ...options.env
})

/** Flags that isolate Pi. */
export const hermeticFlags = (
  version: PiVersion.PiVersion,
  model: PiAgentDir.ModelId | null
): ReadonlyArray<string> => [
  "--offline",
  "--no-skills",
  "--no-prompt-templates",
  "--no-context-files",
  "--no-extensions",
  ...(version === "0.78" ? [] : ["--no-mcp"]),
  ...(model === null ? [] : ["--model", `fake/${model}`])
]

/** Runs Pi until it exits. Any exit code is a success. Interrupting the effect kills the process. */
export const run = (version: PiVersion.PiVersion, options: PiProcessOptions): Effect.Effect<PiExit, PiProcessError> =>
  Effect.callback((resume) => {
    const model = options.model === undefined ? "fake-1" : options.model
    const args = [PiVersion.cliPath(version), ...hermeticFlags(version, model), ...options.args]
    const child = ChildProcess.spawn(process.execPath, args, { cwd: options.cwd, env: environment(options) })
    const stdout: Array<Buffer> = []
    const stderr: Array<Buffer> = []
    child.stdout.on("data", (data: Buffer) => stdout.push(data))
    child.stderr.on("data", (data: Buffer) => stderr.push(data))

    const output = () => ({ stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() })
    const fail = (reason: string) =>
      resume(Effect.fail(new PiProcessError({ version, args: options.args, reason, ...output() })))

    // A real timer, not Effect's clock, since the limit must also hold under a test clock. Waits for "exit" and not
    // "close", which a grandchild with an inherited pipe could delay forever.
    const limit = Duration.fromInputUnsafe(options.timeout ?? "2 minutes")
    const timer = setTimeout(() => {
      child.once("exit", () => fail(`not done after ${Duration.format(limit)}`))
      child.kill("SIGKILL")
    }, Duration.toMillis(limit))
    child.on("error", (error) => {
      clearTimeout(timer)
      fail(error.message)
    })
    child.on("close", (exitCode, signal) => {
      clearTimeout(timer)
      if (exitCode === null) return fail(`killed by ${signal}`)
      resume(Effect.succeed({ exitCode, ...output() }))
    })
    // Pi can exit without reading its input.
    child.stdin.on("error", () => {})
    child.stdin.end(options.stdin ?? "")

    return Effect.callback<void>((stopped) => {
      clearTimeout(timer)
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
        return stopped(Effect.void)
      }
      child.once("exit", () => stopped(Effect.void))
      child.kill("SIGKILL")
    })
  })
