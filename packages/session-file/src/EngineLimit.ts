/**
 * Turns exceptions about JavaScript's limits into errors that name the file: the length of a string, the size of a Map or
 * array, memory, and the depth of the stack. A file can exceed them, and readers cannot always know before.
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

/** The exceeded limit, for users; undefined for other defects. */
export const reasonOf = (defect: unknown): string | undefined =>
  defect instanceof Error ? REASONS.find(([says]) => says.test(defect.message))?.[1] : undefined

/** Turns defects of the work on a file into a `SessionFileError` where a limit was exceeded. */
export const named =
  (path: string) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | SessionFileError, R> =>
    Effect.catchDefect(work, (defect): Effect.Effect<never, SessionFileError> => {
      const reason = reasonOf(defect)
      return reason === undefined
        ? Effect.die(defect)
        : Effect.fail(new SessionFileError({ path, operation: "read", reason }))
    })
