/** Parses and validates a dataset line: JSON, well-formed text, its format's schema, no additional members. */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { type Json } from "@pi-sessions/core/Json"
import { type FormatName } from "./FormatName.ts"
import { InvalidSample } from "./SampleFormat.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: (issue) => issue._tag })

const pathOf = (path: ReadonlyArray<unknown>): string =>
  path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./u, "")

/** How `JSON.stringify` writes a lone surrogate. Also matches text that contains such an escape. */
const MAYBE_LONE_SURROGATE = /\\u[dD][89a-fA-F]/u

/**
 * Makes a parser for one format's lines; make it once. `quick` must accept only what the schema accepts. It is tried
 * first because the schema is slow; the schema then reports what is wrong.
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
      return invalid("", "a lone surrogate in a text")
    }
    const quickly = decodeQuickly?.(value)
    if (quickly !== undefined && Result.isSuccess(quickly)) return Result.succeed(quickly.success)
    const decoded = decode(value)
    if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
    const [issue] = formatIssue(decoded.failure).issues
    return invalid(pathOf(issue?.path ?? []), `wrong shape (${issue?.message ?? "unknown"})`)
  }
}
