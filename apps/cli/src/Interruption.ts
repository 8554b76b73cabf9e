/** Where long work can be interrupted: while JavaScript computes, Node tells nobody of a signal. */
import * as Effect from "effect/Effect"

/**
 * Lets a signal in that came meanwhile. The first turn may still be one that began before the signal did; the second
 * comes after Node has looked for it.
 */
export const point: Effect.Effect<void> = Effect.andThen(Effect.yieldNow, Effect.yieldNow)
