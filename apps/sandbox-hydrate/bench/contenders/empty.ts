/** The smallest Effect program with Node's services. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"

NodeRuntime.runMain(Effect.provide(Effect.void, NodeServices.layer))
