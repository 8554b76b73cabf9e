/**
 * The Pi version whose behaviour is followed. Contexts, forks and branch summaries differ between releases, so functions
 * whose result depends on the version take a profile. `0.78` is tested against Pi 0.78.0, `1.5` against 1.5.2.
 */
import * as Schema from "effect/Schema"

export const PiProfile = Schema.Literals(["0.78", "1.5"])
export type PiProfile = typeof PiProfile.Type

export const newest: PiProfile = "1.5"
