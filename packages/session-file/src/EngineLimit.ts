/**
 * What a file can hold and JavaScript cannot: a text longer than any string, more items than a Map or an array takes, more
 * bytes than there is memory, nesting deeper than the stack. No reader can rule all of these out beforehand, so they are
 * told from bugs here, and become an error that names the file.
 */
import * as Effect from "effect/Effect"
import { MAX_LINE_BYTES } from "@pi-sessions/core/SessionLine"
import { SessionFileError } from "./SessionFileError.ts"

const REASONS: ReadonlyArray<readonly [says: RegExp, reason: string]> = [
  [
    /^(?:Invalid string length|Cannot create a string longer)/u,
    `it holds a text longer than ${MAX_LINE_BYTES} characters`
  ],
  [/^(?:Array buffer allocation failed|Failed to allocate memory)/u, "it needs more memory than there is"],
  [/^(?:Map|Set) maximum size exceeded|^Invalid array length/u, "it holds more entries than can be in memory"],
  [/^Maximum call stack size exceeded/u, "it holds values that are nested too deeply"]
]

/** What limit was exceeded, in words; undefined for any other defect. */
export const reasonOf = (defect: unknown): string | undefined =>
  defect instanceof Error ? REASONS.find(([says]) => says.test(defect.message))?.[1] : undefined

/** Fails where the work on a file exceeds a limit; other defects stay what they are. */
export const named =
  (path: string) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | SessionFileError, R> =>
    Effect.catchDefect(work, (defect): Effect.Effect<never, SessionFileError> => {
      const reason = reasonOf(defect)
      return reason === undefined
        ? Effect.die(defect)
        : Effect.fail(new SessionFileError({ path, operation: "read", reason }))
    })
