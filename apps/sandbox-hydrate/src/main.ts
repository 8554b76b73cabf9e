#!/usr/bin/env node
/** Entry point: hydrates a thread, then becomes the command after `--`, such as Pi. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { HELP, parse } from "./Arguments.ts"
import { become } from "./Become.ts"
import { WrongUsage, hydrate } from "./SandboxHydrate.ts"
import { setFlagsFromString } from "node:v8"

// What is read stays in memory until it is written, so a growing young generation would only be copied; keep it small.
setFlagsFromString("--semi-space-growth-factor=1")

const program = Effect.gen(function* () {
  const { settings, command, help, problem } = parse(process.argv.slice(2))
  if (help) {
    process.stdout.write(HELP)
    return
  }
  if (problem !== undefined) return yield* new WrongUsage({ message: `${problem}; see --help` })
  const { path, cwd, mode, outcome, entries, warnings } = yield* hydrate(settings)
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
  const how = mode === "lossless" ? "byte for byte" : "by meaning"
  process.stderr.write(`sandbox-hydrate: ${path}: ${outcome}, ${entries} entries, ${how}\n`)
  if (command === undefined) {
    process.stdout.write(`${path}\n`)
    return
  }
  const [name, ...args] = command
  process.exitCode = yield* become([name, "--session", path, ...args], cwd)
})

program.pipe(
  Effect.catch((error) =>
    Effect.sync(() => {
      process.stderr.write(`error: ${error.message}\n`)
      process.exitCode = error._tag === "WrongUsage" ? 2 : 1
    })
  ),
  // Not all of NodeServices, to start faster.
  Effect.provide(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
