/** The command tree. A call prints its result on stdout, at most one error on stderr, and ends with an exit status. */
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import { harmless } from "@pi-sessions/report/TerminalText"
import { reasonOf } from "@pi-sessions/session-file/EngineLimit"
import { UsageError } from "./Exit.ts"
import { Invocation } from "./Invocation.ts"
import { VERSION } from "./Version.ts"
import { doctor } from "./commands/doctor.ts"
import { extract } from "./commands/extract.ts"
import { fork } from "./commands/fork.ts"
import { hydrate } from "./commands/hydrate.ts"
import { list } from "./commands/list.ts"
import { merge } from "./commands/merge.ts"
import { search } from "./commands/search.ts"
import { sessionIndex } from "./commands/sessionIndex.ts"
import { show } from "./commands/show.ts"
import { stats } from "./commands/stats.ts"
import { store } from "./commands/store.ts"
import { tree } from "./commands/tree.ts"
import { validate } from "./commands/validate.ts"
import { view } from "./commands/view.ts"

/** Every command, in the order of the help. */
export const commands = [
  hydrate,
  extract,
  merge,
  validate,
  list,
  show,
  tree,
  fork,
  search,
  stats,
  view,
  doctor,
  sessionIndex,
  store
] as const

const root = Command.make("pi-sessions").pipe(
  Command.withDescription(
    "Sessions of the Pi coding agent: resume them anywhere, store them safely, turn them into training data"
  ),
  Command.withSubcommands(commands)
)

/** Prints one message and where to find help for wrong usage, not the whole help. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
          [...event.errors.map((error) => `error: ${error.message}`), `See ${event.commandPath.join(" ")} --help`].join(
            "\n"
          )
        )
      : CliOutput.defaultPresenter.present(event)
}

const settings = Layer.mergeAll(
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions, GlobalFlag.LogLevel] }),
  Layer.succeed(References.LogToStderr, true)
)

/** The one error message of a call; empty for an interruption, and for an error that was printed before. */
const errorMessage = (cause: Cause.Cause<{ readonly message: string }>): string => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure !== undefined) return failure.error.message
  if (Cause.hasInterruptsOnly(cause)) return ""
  const defect = Cause.squash(cause)
  const limit = reasonOf(defect)
  if (limit !== undefined) return `the session is too large for this command: ${limit}`
  const what = defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect)
  return `this should not have happened, please report it: ${what}`
}

/** Runs one call. It fails with an error that was printed on stderr and carries the exit status. */
export const run = (args: ReadonlyArray<string>) =>
  Command.runWith(root, { version: VERSION })(args).pipe(
    Effect.ensuring(Invocation.clearProgress),
    Effect.catchTag("ShowHelp", (help) =>
      help.errors.length === 0 && args.length === 0 ? Effect.void : Effect.fail(new UsageError({ text: "" }))
    ),
    Effect.tapCause((cause) => {
      const message = errorMessage(cause)
      return message === "" ? Effect.void : Console.error(`error: ${harmless(message)}`)
    }),
    Effect.provide(Invocation.layer),
    Effect.provide(settings)
  )
