/** Loads the code of a command when the command runs, so that the program starts fast. */
import * as Effect from "effect/Effect"

/** Runs `run` of the module that `load` imports. */
export const lazily =
  <I, E, R>(load: () => Promise<{ readonly run: (input: I) => Effect.Effect<void, E, R> }>) =>
  (input: I): Effect.Effect<void, E, R> =>
    Effect.flatMap(Effect.promise(load), ({ run }) => run(input))
