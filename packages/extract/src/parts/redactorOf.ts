/** The redactor of an operation's settings. */
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { type SampleOptions } from "../ExtractOptions.ts"

/** Undefined: redaction is off. */
export const redactorOf = ({ redaction }: Pick<SampleOptions, "redaction">): Redactor | undefined =>
  redaction === "off" || redaction === undefined
    ? undefined
    : new Redactor({ placeholders: new Placeholders(redaction.key), exact: redaction.exact ?? [] })
