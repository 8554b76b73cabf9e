/** Calls of the CLI in this process, with the results that a shell would see. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, ConfigProvider, Effect, Exit, Layer, Runtime, Sink, Stdio } from "effect"
import { TestConsole } from "effect/testing"
import * as Os from "node:os"
import * as Path from "node:path"
import * as process from "node:process"
import { run } from "../../src/Cli.ts"

// Local times must be the same on every machine.
process.env["TZ"] = "UTC"

/** The state folder of calls, instead of the user's own. */
export const STATE = Path.join(Os.tmpdir(), "pi-sessions-test-state")

export interface Called {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a call from `cwd`. `terminal`: whether stderr, or also stdout, is a terminal. The environment has only `variables`. */
export const call = (
  args: ReadonlyArray<string>,
  cwd: string,
  terminal: boolean | "both" = false,
  variables: { readonly [name: string]: string } = {},
  services: Layer.Layer<NodeServices.NodeServices> = NodeServices.layer
): Effect.Effect<Called> =>
  Effect.gen(function* () {
    const written: { readonly [to in "stdout" | "stderr"]: Array<Uint8Array> } = { stdout: [], stderr: [] }
    const sink = (to: "stdout" | "stderr") => () =>
      Sink.forEach((chunk: string | Uint8Array) => Effect.sync(() => void written[to].push(Buffer.from(chunk))))
    const stdio = Stdio.layerTest({
      stdout: sink("stdout"),
      stderr: sink("stderr"),
      stdoutIsTerminal: Effect.succeed(terminal === "both"),
      stderrIsTerminal: Effect.succeed(terminal !== false)
    })
    const exit = yield* Effect.exit(run(args)).pipe(
      Effect.tap(() =>
        Effect.gen(function* () {
          for (const line of yield* TestConsole.logLines) written.stdout.push(Buffer.from(`${String(line)}\n`))
          for (const line of yield* TestConsole.errorLines) written.stderr.push(Buffer.from(`${String(line)}\n`))
        })
      ),
      Effect.provide(Layer.mergeAll(stdio, Layer.fresh(TestConsole.layer))),
      Effect.provide(services),
      Effect.provide(
        ConfigProvider.layer(ConfigProvider.fromUnknown({ XDG_STATE_HOME: STATE, ...variables, PI_SESSIONS_CWD: cwd }))
      )
    )
    const [stdout, stderr] = [Buffer.concat(written.stdout).toString(), Buffer.concat(written.stderr).toString()]
    return { status: Exit.isSuccess(exit) ? 0 : statusOf(Cause.squash(exit.cause)), stdout, stderr }
  })

const statusOf = (error: unknown): number =>
  typeof error === "object" && error !== null && Runtime.errorExitCode in error
    ? Number(error[Runtime.errorExitCode])
    : 1
