/** The splits of a dataset. */
import * as Schema from "effect/Schema"

export const Split = Schema.Literals(["train", "validation"])
export type Split = typeof Split.Type
