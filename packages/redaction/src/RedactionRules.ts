/** The built-in rules, prefixed formats first. They follow each maker's description; docs/redaction.md shows how to add one. */
import { type RedactionRule } from "./RedactionRule.ts"
import { CONTEXT_RULES } from "./internal/contextRules.ts"
import { PREFIXED_RULES } from "./internal/prefixedRules.ts"

export const REDACTION_RULES: ReadonlyArray<RedactionRule> = [...PREFIXED_RULES, ...CONTEXT_RULES]
