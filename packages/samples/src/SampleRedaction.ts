/** Redacts samples. Runs after the cut and before the formats, so that every format gets the same text. */
import { type LongTexts } from "@pi-sessions/core/SessionOutline"
import { type RedactionScope, type Redactor } from "@pi-sessions/redaction/Redactor"
import { type RedactionCounts } from "@pi-sessions/redaction/RedactionRule"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { type ToolDefinition } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { type ToolCall, type ToolResult, type Turn, type TurnMetadata } from "./Turn.ts"
import { IMAGE_NAME } from "./SessionImages.ts"
import { nameOf as fileNameOf } from "@pi-sessions/core/FileName"

export interface Redacted {
  readonly sample: TrainingSample
  readonly counts: RedactionCounts
}

/** Replaces secrets and names in a sample. Long texts of an outline (`texts`) stay markers. */
export const redact = (
  sample: TrainingSample,
  redactor: Redactor,
  texts?: LongTexts,
  budget?: SessionBudget
): Redacted => {
  const { metadata } = sample
  const paths = [sample.cwd, sample.source_path, metadata.parent_session ?? "", metadata.town ?? ""]
  const scope = redactor.scope(
    paths,
    sample.turns.flatMap(({ content, tool_results }) => [content, ...tool_results.map((result) => result.content)]),
    texts,
    budget
  )
  const redacted: TrainingSample = {
    ...sample,
    session_id: scope.text(sample.session_id),
    // Only the file name is kept, after redaction, which may need the directories to find secrets.
    source_path: fileNameOf(scope.text(sample.source_path)),
    cwd: scope.text(sample.cwd),
    turns: sample.turns.map((turn) => redactTurn(turn, scope)),
    ...(sample.rejected === undefined ? {} : { rejected: redactTurn(sample.rejected, scope) }),
    tools: sample.tools.map((tool) => redactTool(tool, scope)),
    metadata: redactMetadata(metadata, scope)
  }
  return { sample: redacted, counts: scope.counts }
}

/** Members with fixed values, which need no redaction. */
const FIXED = new Set(["role", "role_source", "tools_source", "start", "context", "pi", "system_source"])

const redactMetadata = (metadata: TrainingSample["metadata"], scope: RedactionScope): TrainingSample["metadata"] => {
  const redacted = { ...metadata, ...texts(metadata, scope) }
  const { parent_session } = redacted
  return parent_session === undefined ? redacted : { ...redacted, parent_session: fileNameOf(parent_session) }
}

const redactTurn = (turn: Turn, scope: RedactionScope): Turn => ({
  ...turn,
  content: scope.text(turn.content),
  ...redactImages(turn, scope),
  tool_calls: turn.tool_calls.map((call) => redactCall(call, scope)),
  tool_results: turn.tool_results.map((result) => redactResult(result, scope)),
  timestamp: scope.text(turn.timestamp),
  uuid: scope.text(turn.uuid),
  metadata: redactTurnMetadata(turn.metadata, scope)
})

const redactTurnMetadata = (metadata: TurnMetadata, scope: RedactionScope): TurnMetadata => ({
  ...metadata,
  ...texts(metadata, scope),
  ...(metadata.unanswered === undefined ? {} : { unanswered: metadata.unanswered.map((id) => scope.text(id)) })
})

const redactCall = (call: ToolCall, scope: RedactionScope): ToolCall => ({
  id: scope.text(call.id),
  name: scope.text(call.name),
  arguments: scope.object(call.arguments)
})

const redactResult = (result: ToolResult, scope: RedactionScope): ToolResult => ({
  ...result,
  tool_call_id: scope.text(result.tool_call_id),
  tool_name: scope.text(result.tool_name),
  content: scope.text(result.content),
  ...redactImages(result, scope)
})

/** Paths of image files contain only a hash, so they are kept. */
const redactImages = ({ images }: Pick<Turn, "images">, scope: RedactionScope): Pick<Turn, "images"> =>
  images === undefined ? {} : { images: images.map((name) => (IMAGE_NAME.test(name) ? name : scope.text(name))) }

const redactTool = (tool: ToolDefinition, scope: RedactionScope): ToolDefinition => ({
  name: scope.text(tool.name),
  description: scope.text(tool.description),
  parameters: scope.object(tool.parameters)
})

/** Redacts all string members except fixed ones, so that new members are covered. */
const texts = (object: object, scope: RedactionScope): { [key: string]: string } => {
  const found: { [key: string]: string } = {}
  for (const [key, value] of Object.entries(object)) {
    if (typeof value === "string" && !FIXED.has(key)) found[key] = scope.text(value)
  }
  return found
}
