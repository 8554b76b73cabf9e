/** Reads a line of a dataset again: JSON, well-formed text, the shape of its format and no member beyond it. */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { type Json } from "@pi-sessions/core/Json"
import { type FormatName } from "./FormatName.ts"
import { InvalidSample } from "./Sample.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: (issue) => issue._tag })

const pathOf = (path: ReadonlyArray<unknown>): string =>
  path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./u, "")

/** What `JSON.stringify` writes for half a surrogate pair, and for a text that shows one. */
const MAYBE_LONE_SURROGATE = /\\u[dD][89a-fA-F]/u

/**
 * A reader of one format's lines; compile it once. `quick` takes nothing that the schema would not take, and is asked
 * first where walking the schema takes longer than all the rest; the schema then tells what is wrong.
 */
export const make = <S>(
  format: FormatName,
  schema: Schema.Decoder<S>,
  quick?: Schema.Decoder<S>
): ((line: string) => Result.Result<S, InvalidSample>) => {
  const decode = SchemaParser.decodeUnknownResult(schema, { onExcessProperty: "error" })
  const decodeQuickly =
    quick === undefined ? undefined : SchemaParser.decodeUnknownResult(quick, { onExcessProperty: "error" })
  const invalid = (at: string, issue: string) => Result.fail(new InvalidSample({ format, at, issue }))
  return (line) => {
    let value: Json
    try {
      value = JSON.parse(line)
    } catch {
      return invalid("", "the line is no JSON")
    }
    if (MAYBE_LONE_SURROGATE.test(line) && !WellFormed.isWellFormed(value)) {
      return invalid("", "half of a surrogate pair in a text")
    }
    const quickly = decodeQuickly?.(value)
    if (quickly !== undefined && Result.isSuccess(quickly)) return Result.succeed(quickly.success)
    const decoded = decode(value)
    if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
    const [issue] = formatIssue(decoded.failure).issues
    return invalid(pathOf(issue?.path ?? []), `wrong shape (${issue?.message ?? "unknown"})`)
  }
}
