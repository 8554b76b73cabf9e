/** What is to be taken out of a dataset, from flags, the environment and files that a person named. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as process from "node:process"
import * as ExactSecrets from "@pi-sessions/extract/ExactSecrets"
import { type ExtractOptions } from "@pi-sessions/extract/ExtractOptions"
import * as RedactionKey from "@pi-sessions/extract/RedactionKey"
import { CommandFailed } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { inState } from "../../StateFolder.ts"
import { type Input } from "../extract.ts"
import { readFile } from "./namedFile.ts"

const REFUSALS = { too_short: "too short to be told from other words", common: "a common value or a path" }

/** The flags that say so. */
export type RedactionInput = Pick<Input, "noRedact" | "redactionKey" | "secret" | "secretsFrom">

export const redactionOf = Effect.fnUntraced(function* (input: RedactionInput) {
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
  // Not with datasets, which are shared.
  const file = Option.isSome(input.redactionKey)
    ? invocation.resolve(input.redactionKey.value)
    : yield* inState("redaction-key")
  const key = yield* RedactionKey.open(file).pipe(
    Effect.mapError((error) => new CommandFailed({ text: error.message }))
  )
  return { key, exact: secrets }
})
