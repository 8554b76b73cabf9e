#!/usr/bin/env node
/** The program `pi-sessions`. */
import * as Effect from "effect/Effect"
import * as Stdio from "effect/Stdio"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { run } from "./Cli.ts"

Effect.flatMap(Stdio.Stdio, (stdio) => Effect.flatMap(stdio.args, run)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
