/** The check of `--tokenizer`. A module of its own, because it loads the formats. */
import * as Option from "effect/Option"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { UsageError } from "../Exit.ts"

/** Refuses a format that is made for one model without a tokenizer. */
export const needsTokenizer = (
  flag: string,
  format: FormatName,
  tokenizer: Option.Option<string>
): UsageError | undefined =>
  FORMATS[format].needsModel === true && Option.isNone(tokenizer)
    ? new UsageError({ text: `${flag} ${format} needs --tokenizer DIR, the directory of a local model` })
    : undefined
