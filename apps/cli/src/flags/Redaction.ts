/** What is to be taken out of a dataset, from flags, the environment and files that a person named. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as process from "node:process"
import * as ExactSecrets from "@pi-sessions/redaction/ExactSecrets"
import { type ExtractOptions } from "@pi-sessions/extract/ExtractOptions"
import * as RedactionKey from "@pi-sessions/extract/publish/RedactionKey"
import { CommandFailed } from "../Exit.ts"
import { Invocation } from "../Invocation.ts"
import { inState } from "../StateFolder.ts"
import { type Input } from "../commands/extract.ts"
import { parseJson, readText } from "./NamedFile.ts"

const REFUSALS = { too_short: "too short to be told from other words", common: "a common value or a path" }

/** The flags that say so. */
export type RedactionInput = Pick<Input, "noRedact" | "redactionKey" | "secret" | "secretsFrom">

/** The secrets in a file. One without any is a mistake: whoever names it believes that its values are taken out. */
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

export const redactionOf = Effect.fnUntraced(function* (input: RedactionInput) {
  const redaction: NonNullable<ExtractOptions["redaction"]> = "off"
  if (input.noRedact) return redaction
  const invocation = yield* Invocation
  const files = yield* Effect.forEach(input.secretsFrom, secretsIn)
  const given = ExactSecrets.all([ExactSecrets.fromValues(input.secret), ...files])
  for (const { name, reason } of given.refused) {
    yield* invocation.note(`not taken as a secret: ${name} (${REFUSALS[reason]})`)
  }
  const { secrets } = ExactSecrets.all([given, ExactSecrets.fromEnvironment(process.env)])
  // Not with datasets, which are shared.
  const file = Option.isSome(input.redactionKey)
    ? invocation.resolve(input.redactionKey.value)
    : yield* inState("redaction-key")
  const key = yield* RedactionKey.open(file).pipe(
    Effect.mapError((error) => new CommandFailed({ text: error.message }))
  )
  return { key, exact: secrets }
})
