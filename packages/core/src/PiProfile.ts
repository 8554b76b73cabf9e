/**
 * Which Pi? Context, fork and branch summaries differ between releases, so functions whose answer depends on it take a
 * profile. Each stands for the Pi it was checked against: 0.78.0 and 1.5.2.
 */
import * as Schema from "effect/Schema"

export const PiProfile = Schema.Literals(["0.78", "1.5"])
export type PiProfile = typeof PiProfile.Type

export const newest: PiProfile = "1.5"
