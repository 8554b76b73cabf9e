/** The redactor of an operation's settings. */
import { randomBytes } from "node:crypto"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { type RedactionSettings } from "../ExtractOptions.ts"

/** The given redaction. Default: with a new random key. */
export const redactionOf = (given?: RedactionSettings | "off"): RedactionSettings | "off" =>
  given ?? { key: randomBytes(32).toString("hex") }

/** Undefined if and only if redaction is off. */
export const redactorOf = (redaction: RedactionSettings | "off"): Redactor | undefined =>
  redaction === "off"
    ? undefined
    : new Redactor({ placeholders: new Placeholders(redaction.key), exact: redaction.exact ?? [] })
