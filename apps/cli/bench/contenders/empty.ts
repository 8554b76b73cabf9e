/** The smallest Effect CLI: one command without flags. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"

const empty = Command.make("empty", {}, () => Effect.void)

Command.run(empty, { version: "0.0.0" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
