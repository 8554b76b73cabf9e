/** The CLI at a real terminal, made by `script` of util-linux, with typed keys. */
import * as ChildProcess from "node:child_process"
import * as process from "node:process"
import * as Stream from "node:stream/consumers"
import { MAIN } from "./program.ts"

/** Why no terminal can be made on this machine; undefined if one can. */
export const missing: string | undefined = (() => {
  const { stdout } = ChildProcess.spawnSync("script", ["--version"], { encoding: "utf8" })
  return stdout?.includes("util-linux") === true
    ? undefined
    : "no script of util-linux: tests at a terminal are skipped"
})()
if (missing !== undefined) process.stdout.write(`${missing}\n`)

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export interface TerminalRun {
  readonly status: number | null
  /** Everything that was sent to the terminal, with control sequences. */
  readonly screen: string
}

/** Keys that are typed when the screen shows a text. */
export interface Typed {
  readonly after: string
  readonly keys: string
}

export interface TerminalOptions {
  readonly cwd: string
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
  readonly typed?: ReadonlyArray<Typed>
  /** A file for stdout, so that the terminal has stderr only. */
  readonly stdoutTo?: string
}

/** Runs a call at a terminal. */
export const run = async (args: ReadonlyArray<string>, options: TerminalOptions): Promise<TerminalRun> => {
  const call = [process.execPath, MAIN, ...args].map(quoted).join(" ")
  const to = options.stdoutTo === undefined ? "" : ` > ${quoted(options.stdoutTo)}`
  const child = ChildProcess.spawn(
    "script",
    ["-qec", `stty cols ${options.columns ?? 80} rows 24; ${call}${to}`, "/dev/null"],
    {
      cwd: options.cwd,
      env: { TZ: "UTC", PATH: process.env["PATH"] ?? "", TERM: "xterm", HOME: options.cwd, ...options.env }
    }
  )
  let screen = ""
  let waiting = options.typed ?? []
  let seenTo = 0
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text
    const [next, ...later] = waiting
    if (next === undefined || !screen.slice(seenTo).includes(next.after)) return
    waiting = later
    seenTo = screen.length
    child.stdin.write(next.keys)
  })
  // A terminal has no end of input while it is open.
  const stderr = Stream.text(child.stderr)
  // A call that waits for more keys is killed.
  const patience = setTimeout(() => child.kill(), 120_000)
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve))
  clearTimeout(patience)
  return { status, screen: screen + (await stderr) }
}
