/** Faults that no call may have for any input: a defect, a raw JavaScript error, broken JSON, no end. */
import { Worker } from "node:worker_threads"
import { type Args } from "./anyCommand.ts"
import { type Called } from "./callCli.ts"

const FORBIDDEN: ReadonlyArray<RegExp> = [
  /this should not have happened/,
  /TypeError|RangeError|ReferenceError|SyntaxError/,
  /is not a function|is not iterable|Cannot read propert|Cannot convert|call stack/,
  /\n\s+at .+:\d+:\d+/
]

/** JavaScript's text for an object. Pi sends it to the model, so samples may contain it. */
const OBJECT = /\[object \w+\]/

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const jsonProblem = (args: Args, { status, stdout }: Called): string | undefined => {
  if (stdout === "") return status === 0 && args.includes("--json") ? "prints nothing" : undefined
  if (args.includes("--json")) return isJson(stdout) ? undefined : "prints JSON that does not parse"
  if (!args.includes("--ndjson")) return undefined
  return stdout.split("\n").every((line) => line === "" || isJson(line)) ? undefined : "prints a line that is no JSON"
}

/** The fault of a call; undefined if there is none. */
export const problemOf = (args: Args, called: Called): string | undefined => {
  if (![0, 1, 2].includes(called.status)) return `exits with ${called.status}`
  if (called.status !== 0 && called.stderr === "" && called.stdout === "") return "fails and says nothing"
  for (const text of [called.stderr, called.stdout]) {
    for (const pattern of args.includes("--as") ? FORBIDDEN : [...FORBIDDEN, OBJECT]) {
      const at = text.search(pattern)
      if (at >= 0) return `prints ${JSON.stringify(text.slice(Math.max(0, at - 100), at + 250))}`
    }
  }
  return jsonProblem(args, called)
}

const PATIENCE_MS = 120_000

const WATCH = `
const { parentPort } = require("node:worker_threads")
let timer
parentPort.on("message", (call) => {
  clearTimeout(timer)
  timer = setTimeout(() => {
    require("node:fs").writeSync(2, "\\nno end after ${PATIENCE_MS / 1000} s: " + call + "\\n")
    process.kill(process.pid, "SIGKILL")
  }, ${PATIENCE_MS})
})`

/** Ends the process with the name of the call if a call does not end. Nothing else can stop an endless loop. */
export class Watchdog implements Disposable {
  readonly #worker = new Worker(WATCH, { eval: true })
  begin(call: string): void {
    this.#worker.postMessage(call)
  }
  [Symbol.dispose](): void {
    void this.#worker.terminate()
  }
}
