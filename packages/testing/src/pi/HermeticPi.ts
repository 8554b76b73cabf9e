/**
 * An environment for real Pis: a temporary folder, a scripted model, and an agent folder for each version.
 *
 * All of it lives in the scope. The versions share the model and the working folder, but not the agent folder.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import * as PiAgentDir from "./PiAgentDir.ts"
import * as PiProcess from "./PiProcess.ts"
import * as PiVersion from "./PiVersion.ts"
import * as ScriptedModel from "./ScriptedModel.ts"
import { temporaryFolder } from "../TemporaryFolder.ts"

/** Options of one run. Default folders: those of the environment. */
export type RunOptions = Partial<Omit<PiProcess.PiProcessOptions, "args" | "agentDir" | "home">>

/** A place to run real Pis in. */
export interface HermeticPi {
  /** The temporary folder that contains all others; a real path. */
  readonly root: string
  /** The working folder of runs, empty at first. */
  readonly cwd: string
  readonly home: string
  /** A folder for session files. Pi does not read it on its own. */
  readonly sessionDir: string
  readonly agentDir: (version: PiVersion.PiVersion) => string
  readonly model: ScriptedModel.ScriptedModel
  /** Runs Pi until it exits. Any exit code is a success. */
  readonly run: (
    version: PiVersion.PiVersion,
    args: ReadonlyArray<string>,
    options?: RunOptions
  ) => Effect.Effect<PiProcess.PiExit, PiProcess.PiProcessError>
  /** Resumes or creates a session file with one prompt. */
  readonly prompt: (
    version: PiVersion.PiVersion,
    sessionFile: string,
    prompt: string,
    options?: RunOptions
  ) => Effect.Effect<PiProcess.PiExit, PiProcess.PiProcessError>
  /** The requests that the model received from all runs. */
  readonly requests: Effect.Effect<ReadonlyArray<ScriptedModel.ChatRequest>>
}

/** Makes the environment, with a model that follows `script`. */
export const make = Effect.fnUntraced(function* (
  script?: ScriptedModel.Script
): Effect.fn.Return<HermeticPi, never, Scope.Scope> {
  const root = yield* temporaryFolder
  const model = yield* ScriptedModel.make(script)
  const folder = (name: string) => Path.join(root, name)
  const agentDir = (version: PiVersion.PiVersion) => folder(`agent-${version}`)
  const cwd = folder("project")
  const home = folder("home")
  const sessionDir = folder("sessions")
  for (const dir of [cwd, home, sessionDir]) yield* Effect.promise(() => Fs.mkdir(dir))
  for (const version of PiVersion.versions) yield* PiAgentDir.write(agentDir(version), model.url)

  const run: HermeticPi["run"] = (version, args, options) =>
    PiProcess.run(version, { cwd, ...options, home, agentDir: agentDir(version), args })
  return {
    root,
    cwd,
    home,
    sessionDir,
    agentDir,
    model,
    run,
    prompt: (version, sessionFile, prompt, options) => run(version, ["--session", sessionFile, "-p", prompt], options),
    requests: model.requests
  }
})
