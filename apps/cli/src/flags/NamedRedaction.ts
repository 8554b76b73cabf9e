/** The redaction that flags, the environment and named files ask for. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as process from "node:process"
import * as ExactSecrets from "@pi-sessions/redaction/ExactSecrets"
import { type ExtractOptions } from "@pi-sessions/extract/ExtractOptions"
import * as RedactionKey from "@pi-sessions/extract/publish/RedactionKey"
import { CommandFailed } from "../Exit.ts"
import { Invocation } from "../Invocation.ts"
import { inState } from "../StateFolder.ts"
import { parseJson, readText } from "./NamedFile.ts"

const REFUSALS = { too_short: "too short: it would match other words", common: "a common value or a path" }

interface RedactionInput {
  readonly noRedact: boolean
  readonly redactionKey: Option.Option<string>
  readonly secret: ReadonlyArray<string>
  readonly secretsFrom: ReadonlyArray<string>
}

/** The secrets in a file. A file without secrets is an error, because the user expects its values to be redacted. */
const secretsIn = Effect.fnUntraced(function* (given: string) {
  const flag = "--secrets-from"
  const content = yield* readText(flag, given)
  if (ExactSecrets.isJson(given, content)) yield* parseJson(flag, given, content)
  const found = ExactSecrets.fromFile(given, content)
  if (found.secrets.length + found.refused.length > 0) return found
  const invocation = yield* Invocation
  const what = "it holds no value under the name of a secret, such as key, token or API_KEY"
  return yield* new CommandFailed({ text: `${flag}: ${invocation.resolve(given)}: ${what}` })
})

const NO_SECRETS = { redactionKey: Option.none(), secret: [], secretsFrom: [] }

/** The redaction of commands that have no flag but `--no-redact`. */
export const byDefault = (noRedact: boolean) => of({ noRedact, ...NO_SECRETS })

export const of = Effect.fnUntraced(function* (input: RedactionInput) {
  const redaction: NonNullable<ExtractOptions["redaction"]> = "off"
  if (input.noRedact) return redaction
  const invocation = yield* Invocation
  const files = yield* Effect.forEach(input.secretsFrom, secretsIn)
  const given = ExactSecrets.all([ExactSecrets.fromValues(input.secret), ...files])
  for (const { name, reason } of given.refused) {
    yield* invocation.note(`not taken as a secret: ${name} (${REFUSALS[reason]})`)
  }
  const { secrets } = ExactSecrets.all([given, ExactSecrets.fromEnvironment(process.env)])
  // The key is not kept beside datasets, because datasets are shared.
  const file = Option.isSome(input.redactionKey)
    ? invocation.resolve(input.redactionKey.value)
    : yield* inState("redaction-key")
  return { key: yield* RedactionKey.open(file), exact: secrets }
})
