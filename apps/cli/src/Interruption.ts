/** Points at which long computations can be interrupted: Node delivers signals only between turns of its event loop. */
import * as Effect from "effect/Effect"

/** Handles a signal that arrived before. The first turn may have begun before the signal; the second has not. */
export const point: Effect.Effect<void> = Effect.andThen(Effect.yieldNow, Effect.yieldNow)
