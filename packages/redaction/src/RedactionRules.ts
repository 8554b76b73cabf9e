/**
 * The rules that come with the library, prefixed formats first. All of them are our own reading of how each format is
 * described by its maker; see docs/redaction.md for how to add one.
 */
import { type RedactionRule } from "./RedactionRule.ts"
import { CONTEXT_RULES } from "./internal/contextRules.ts"
import { PREFIXED_RULES } from "./internal/prefixedRules.ts"

export const REDACTION_RULES: ReadonlyArray<RedactionRule> = [...PREFIXED_RULES, ...CONTEXT_RULES]
