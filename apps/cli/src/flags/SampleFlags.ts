/** Flags that decide how a session becomes training samples. */
import * as Flag from "effect/cli/Flag"
import { FormatName } from "@pi-sessions/formats/FormatName"
import * as FlagKinds from "./FlagKinds.ts"

export const format = (what: string) =>
  Flag.Literals("format", FormatName.literals).pipe(
    Flag.withDescription(`${what}. Default: messages.`),
    Flag.withDefault("messages")
  )

/** Without a default, so that a command can see whether the flag was given. */
export const branches = Flag.Literals("branches", ["active", "all"]).pipe(
  Flag.withDescription("Sample the active branch of each session, or all branches. Default: active.")
)

export const reasoning = Flag.Literals("reasoning", ["all", "last-query", "none"]).pipe(
  Flag.withDescription(
    "Which thinking to keep: all, only after the last user turn, or none. Default: all; axolotl: last-query."
  ),
  Flag.optional
)

export const maxTokens = (what: string) => FlagKinds.int("max-tokens", "N", what)

/** Without a default, so that a command can see whether the flag was given. */
export const overflow = Flag.Literals("overflow", ["elide-results", "window", "drop"]).pipe(
  Flag.withDescription(
    "What to do with longer samples: elide the oldest tool results, cut into windows, or drop. Default: window."
  )
)

export const tokenizer = FlagKinds.text(
  "tokenizer",
  "DIR",
  "Directory of a local model (tokenizer.json, tokenizer_config.json, chat template) that counts tokens; required for the format tokens"
)

export const includeHydrated = FlagKinds.on(
  "include-hydrated",
  "Also use hydrated sessions, whose text a model did not write in this form"
)

export const noRedact = (what: string) => FlagKinds.on("no-redact", what)

/** Flags that add values to redact. */
export const secrets = {
  secret: FlagKinds.texts(
    "secret",
    "VALUE",
    "Redact this value too. Keys and tokens of the environment are always redacted."
  ),
  secretsFrom: FlagKinds.texts(
    "secrets-from",
    "FILE",
    "Redact the values in this file: .env, JSON, or one value per line"
  ),
  redactionKey: FlagKinds.text(
    "redaction-key",
    "FILE",
    "Key that numbers the placeholders; made if missing. Default: in ~/.local/state/pi-sessions."
  )
}
