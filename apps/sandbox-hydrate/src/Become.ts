/** Replaces this process with another program (execve); falls back to a child process. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ChildProcess } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { delimiter, resolve } from "node:path"

export class CommandNotFound extends Schema.TaggedError<CommandNotFound>()("CommandNotFound", {
  command: Schema.String
}) {
  override get message(): string {
    return `${this.command}: no such program on PATH; the session is hydrated all the same`
  }
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The executable that a shell would run. */
const locate = (command: string): string | undefined =>
  command.includes("/")
    ? [resolve(command)].find(isExecutable)
    : (process.env["PATH"] ?? "")
        .split(delimiter)
        .map((directory) => resolve(directory, command))
        .find(isExecutable)

const SIGNALS: ReadonlyArray<NodeJS.Signals> = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]

/**
 * Runs `command` in `cwd` in place of this process. Returns only after the fallback to a child, with the child's exit code
 * (128 + n when signal n ended it). Signals are forwarded to the child.
 */
export const become = Effect.fn("Become.become")(function* (
  [command, ...args]: readonly [string, ...ReadonlyArray<string>],
  cwd: string
): Effect.fn.Return<number, CommandNotFound> {
  const program = locate(command)
  if (program === undefined) return yield* new CommandNotFound({ command })
  if (process.execve !== undefined && process.platform !== "win32") {
    const { execve } = process
    yield* Effect.sync(() => {
      process.chdir(cwd)
      execve.call(process, program, [command, ...args], process.env)
    })
  }
  const { spawn } = yield* Effect.promise(() => import("node:child_process"))
  return yield* Effect.callback<number>((resume) => {
    let child: ChildProcess | undefined
    const forward = (signal: NodeJS.Signals): void => void child?.kill(signal)
    for (const signal of SIGNALS) {
      // Effect's own handler would end this process at once. Ours is added before that one is removed, so that no
      // signal arrives without a handler.
      const others = process.listeners(signal)
      process.on(signal, forward)
      for (const other of others) process.off(signal, other)
    }
    child = spawn(program, args, { cwd, stdio: "inherit" })
    const done = (code: number): void => {
      for (const signal of SIGNALS) process.off(signal, forward)
      resume(Effect.succeed(code))
    }
    child.on("error", () => done(127))
    child.on("exit", (code, signal) => done(code ?? 128 + (signal === null ? 0 : (SIGNAL_NUMBERS[signal] ?? 0))))
  })
})

const SIGNAL_NUMBERS: { readonly [signal: string]: number } = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGTERM: 15
}
