/** What is to be taken out of a dataset, from flags, the environment and files that a person named. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { homedir } from "node:os"
import * as process from "node:process"
import * as ExactSecrets from "@pi-sessions/extract/ExactSecrets"
import { type ExtractOptions } from "@pi-sessions/extract/ExtractOptions"
import * as RedactionKey from "@pi-sessions/extract/RedactionKey"
import { CommandFailed } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { type Input } from "../extract.ts"
import { readFile } from "./namedFile.ts"

const REFUSALS = { too_short: "too short to be told from other words", common: "a common value or a path" }

/** Where the key lies unless somebody says otherwise: not with datasets, which are shared. */
const defaultKey = Effect.fnUntraced(function* () {
  const path = yield* Path.Path
  const state = yield* Config.option(Config.String("XDG_STATE_HOME"))
  return path.join(
    Option.getOrElse(state, () => path.join(homedir(), ".local", "state")),
    "pi-sessions",
    "redaction-key"
  )
})

export const redactionOf = Effect.fnUntraced(function* (input: Input) {
  const redaction: NonNullable<ExtractOptions["redaction"]> = "off"
  if (input.noRedact) return redaction
  const invocation = yield* Invocation
  const files = yield* Effect.forEach(input.secretsFrom, (given) =>
    Effect.map(readFile("--secrets-from", given), (content) => ExactSecrets.fromFile(given, content))
  )
  const given = ExactSecrets.all([ExactSecrets.fromValues(input.secret), ...files])
  for (const { name, reason } of given.refused) {
    yield* invocation.note(`not taken as a secret: ${name} (${REFUSALS[reason]})`)
  }
  const { secrets } = ExactSecrets.all([given, ExactSecrets.fromEnvironment(process.env)])
  const file = Option.isSome(input.redactionKey) ? invocation.resolve(input.redactionKey.value) : yield* defaultKey()
  const key = yield* RedactionKey.open(file).pipe(
    Effect.mapError((error) => new CommandFailed({ text: error.message }))
  )
  return { key, exact: secrets }
})
