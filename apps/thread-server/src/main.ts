#!/usr/bin/env node
/** Entry point of the thread server. */
import * as Effect from "effect/Effect"
import * as Stdio from "effect/Stdio"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { run } from "./Cli.ts"
import { teardown } from "./Exit.ts"

let isTerminated = false
process.once("SIGTERM", () => {
  isTerminated = true
})

Effect.flatMap(Stdio.Stdio, (stdio) => Effect.flatMap(stdio.args, run)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: teardown(() => isTerminated) })
)
