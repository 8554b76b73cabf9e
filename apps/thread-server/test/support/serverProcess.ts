/** The built server as a process that can be killed. */
import { spawn } from "node:child_process"
import * as Path from "node:path"

const bundle = Path.resolve(import.meta.dirname, "../../dist/main.js")

export interface ServerProcess {
  readonly url: string
  /** Kill -9; resolves when the process is gone. */
  readonly kill: () => Promise<void>
  /** Stdout and stderr so far. */
  readonly output: () => string
}

/** Starts the server on a database. Port 0: any free one. */
export const start = (db: string, token: string, port = 0): Promise<ServerProcess> => {
  const child = spawn(process.execPath, [bundle, "--port", `${port}`, "--db", db], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] ?? "", ARBE_TOKEN: token }
  })
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()))
  const kill = () => {
    child.kill("SIGKILL")
    return closed
  }
  let output = ""
  child.stderr.on("data", (chunk) => (output += chunk))
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      output += chunk
      const url = /^(http:\S+)\n/.exec(output)?.[1]
      if (url !== undefined) resolve({ url, kill, output: () => output })
    })
    void closed.then(() => reject(new Error(`the server ended: ${output}`)))
  })
}
