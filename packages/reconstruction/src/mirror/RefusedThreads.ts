/** Threads that refused entries. Nothing more is sent to them until the next start. */
import * as Effect from "effect/Effect"
import { type MirrorTrouble, type Refused } from "./MirrorTrouble.ts"

export type Report = (kind: "error" | "warning", message: string) => Effect.Effect<void>

export class RefusedThreads {
  readonly #ids = new Set<string>()
  readonly #report: Report

  constructor(report: Report) {
    this.#report = report
  }

  get isEmpty(): boolean {
    return this.#ids.size === 0
  }

  /** Runs `work` unless the thread has refused before; false then. A new refusal is reported. */
  unlessRefused(
    threadId: string,
    work: Effect.Effect<boolean, MirrorTrouble>
  ): Effect.Effect<boolean, Exclude<MirrorTrouble, Refused>> {
    if (this.#ids.has(threadId)) return Effect.succeed(false)
    return Effect.catchTag(work, "Refused", ({ message }) => {
      this.#ids.add(threadId)
      const consequence = "Mirroring has stopped; what is missing is sent at the next start"
      return Effect.as(this.#report("error", `${message}. ${consequence}`), false)
    })
  }
}
