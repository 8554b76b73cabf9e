import * as Command from "effect/cli/Command"
export const extract = Command.make("extract", {})
