/**
 * Resumes sessions with a real Pi in this process: what `pi --session FILE -p PROMPT` does from opening the file to the
 * request, without starting a process. A session takes milliseconds, so tests can try thousands.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Url from "node:url"
import * as PiAgentDir from "./PiAgentDir.ts"
import type { PiMessage, PiSessionManager } from "./PiModule.ts"
import * as PiModule from "./PiModule.ts"
import * as PiVersion from "./PiVersion.ts"
import * as ScriptedModel from "./ScriptedModel.ts"
import { temporaryFolder } from "../TemporaryFolder.ts"

/** The result for one session. */
export interface Resumed {
  /** The error that ended the run; undefined if the model answered. */
  readonly error: string | undefined
  /** The last request; undefined if none was sent. */
  readonly request: ScriptedModel.ChatRequest | undefined
  /** The file after the run. */
  readonly after: Buffer
}

export interface PiResume {
  /** The working directory to name in headers; it exists. */
  readonly cwd: string
  readonly resume: (bytes: Uint8Array, prompt: string) => Effect.Effect<Resumed>
}

interface AgentSession {
  readonly state: { readonly messages: ReadonlyArray<PiMessage> }
  prompt(text: string): Promise<void>
  dispose?(): void
}

interface Options {
  readonly cwd: string
  readonly agentDir: string
  readonly sessionManager: PiSessionManager
  readonly resourceLoader: unknown
  readonly noTools: "all"
}

interface Loader {
  reload(): Promise<void>
}

interface Sdk {
  createAgentSession(options: Options): Promise<{ readonly session: AgentSession }>
  readonly DefaultResourceLoader: new (options: object) => Loader
}

const isSdk = (exports: unknown): exports is Sdk =>
  typeof exports === "object" &&
  exports !== null &&
  ["createAgentSession", "DefaultResourceLoader"].every((name) => typeof Reflect.get(exports, name) === "function")

/** Loads a Pi with the scripted model as its only provider. All files are in a folder of the scope. */
export const make = Effect.fnUntraced(function* (
  version: PiVersion.PiVersion
): Effect.fn.Return<PiResume, never, Scope.Scope> {
  const root = yield* temporaryFolder
  const model = yield* ScriptedModel.make()
  const agentDir = Path.join(root, "agent")
  const cwd = Path.join(root, "project")
  const sessionDir = Path.join(root, "sessions")
  yield* PiAgentDir.write(agentDir, model.url)
  Fs.mkdirSync(cwd)
  Fs.mkdirSync(sessionDir)
  const pi = yield* Effect.promise(() => PiModule.load(version))
  const exports: unknown = yield* Effect.promise(
    () => import(/* @vite-ignore */ Url.pathToFileURL(PiVersion.indexPath(version)).href)
  )
  if (!isSdk(exports)) return yield* Effect.die(new Error(`Pi ${version} does not export its SDK`))
  const resourceLoader = new exports.DefaultResourceLoader({
    cwd,
    agentDir,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true
  })
  yield* Effect.promise(() => resourceLoader.reload())

  /** The error of a run, as print mode reports it. */
  const run = async (file: string, prompt: string): Promise<string | undefined> => {
    const sessionManager = pi.SessionManager.open(file, sessionDir)
    const { session } = await exports.createAgentSession({
      cwd,
      agentDir,
      sessionManager,
      resourceLoader,
      noTools: "all"
    })
    await session.prompt(prompt)
    const last = session.state.messages.at(-1)
    session.dispose?.()
    return last?.["stopReason"] === "error" ? String(last["errorMessage"]) : undefined
  }
  const resume = Effect.fnUntraced(function* (bytes: Uint8Array, prompt: string) {
    const file = Path.join(sessionDir, "s.jsonl")
    Fs.writeFileSync(file, bytes)
    const before = (yield* model.requests).length
    const error = yield* Effect.promise(() => run(file, prompt)).pipe(
      Effect.catchCause((cause) => Effect.succeed(Cause.pretty(cause)))
    )
    const requests = yield* model.requests
    return {
      error,
      request: requests.length > before ? requests.at(-1) : undefined,
      after: Fs.readFileSync(file)
    } satisfies Resumed
  })
  return { cwd, resume }
})
