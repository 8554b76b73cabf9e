/** Names of kinds of entries, for people. */
import type * as ViewModel from "../../../src/ViewModel.ts"

export const kindNames: { readonly [Kind in ViewModel.EntryRow["kind"]]: string } = {
  session: "session",
  user: "user",
  assistant: "assistant",
  tool_result: "tool result",
  bash: "user's command",
  system: "system",
  custom_message: "extension",
  compaction: "compaction",
  branch_summary: "branch summary",
  label: "label",
  name: "name",
  model: "model",
  thinking_level: "thinking level",
  context_edit: "context edit",
  usage: "usage",
  custom: "state of an extension",
  unknown: "unknown"
}
