/** Another process that writes to a store, and that can be killed. */
import { type ChildProcess, spawn } from "node:child_process"
import * as Path from "node:path"
import { Effect, type Scope } from "effect"

export interface OtherProcess {
  readonly pid: number
  /** Lines of its acknowledged entries. */
  readonly acknowledged: () => ReadonlyArray<string>
  /** Kills it with SIGKILL, and waits until it has ended. */
  readonly kill: Effect.Effect<void>
  /** Waits until it has printed so many more lines. */
  readonly saysMore: (lines: number) => Effect.Effect<void>
}

const script = Path.join(import.meta.dirname, "storeWriter.ts")

/** Starts it and waits until it has opened the store. It ends with the scope. */
export const start = Effect.fnUntraced(function* (
  location: { readonly directory: string; readonly sessionId: string },
  mode: "hold" | "append"
): Effect.fn.Return<OtherProcess, Error, Scope.Scope> {
  const child = yield* Effect.acquireRelease(
    Effect.sync((): ChildProcess =>
      spawn(process.execPath, [script, location.directory, location.sessionId, mode], {
        stdio: ["ignore", "pipe", "inherit"]
      })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()))
  let output = ""
  const waiting = new Set<() => void>()
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8")
    for (const wake of waiting) wake()
  })
  const lines = () => output.split("\n").slice(0, -1)
  const until = (enough: () => boolean) =>
    Effect.callback<void, Error>((resume) => {
      const wake = () => {
        if (!enough()) return
        waiting.delete(wake)
        resume(Effect.void)
      }
      waiting.add(wake)
      wake()
      void closed.then(() => resume(Effect.fail(new Error(`it ended: ${output}`))))
    })
  yield* until(() => lines().length > 0)
  if (lines()[0] !== "open") return yield* Effect.fail(new Error(output))
  return {
    pid: child.pid ?? 0,
    acknowledged: () => lines().slice(1),
    kill: Effect.promise(() => {
      child.kill("SIGKILL")
      return closed
    }),
    saysMore: (count) => {
      const before = lines().length
      return Effect.orDie(until(() => lines().length >= before + count))
    }
  }
})
