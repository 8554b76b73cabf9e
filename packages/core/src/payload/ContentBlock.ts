/** Content blocks of messages, as Pi 0.78.0 to 1.5.2 write them. Unknown fields are allowed and kept. */
import * as Schema from "effect/Schema"
import { AnyJson, AnyJsonObject, type Loose, isOptional } from "../Json.ts"

export const TextBlock = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  textSignature: Schema.optionalKey(Schema.String)
})
export type TextBlock = typeof TextBlock.Type

export const ThinkingBlock = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.String,
  thinkingSignature: Schema.optionalKey(Schema.String),
  redacted: Schema.optionalKey(Schema.Boolean)
})
export type ThinkingBlock = typeof ThinkingBlock.Type

export const ImageBlock = Schema.Struct({
  type: Schema.Literal("image"),
  /** Base64 without the `data:` prefix. */
  data: Schema.String,
  mimeType: Schema.String
})
export type ImageBlock = typeof ImageBlock.Type

export const ToolCallBlock = Schema.Struct({
  type: Schema.Literal("toolCall"),
  /** May be empty: pi-rust writes `""` for some providers. */
  id: Schema.String,
  name: Schema.String,
  arguments: AnyJsonObject,
  thoughtSignature: Schema.optionalKey(Schema.String),
  /** 1.5 */
  namespace: Schema.optionalKey(Schema.String),
  /** 1.5: the model's arguments were not JSON; `arguments` is then `{}`. */
  argumentsError: Schema.optionalKey(AnyJson)
})
export type ToolCallBlock = typeof ToolCallBlock.Type

/** A block of any type; unknown ones are kept. */
export const UnknownBlock = Schema.Struct({ type: Schema.String })
export type UnknownBlock = typeof UnknownBlock.Type

// Guards in plain code, because they are faster than the schemas. Tests check that both agree on all JSON values.

export const isTextBlock = (value: UnknownBlock): value is TextBlock => {
  const { type, text, textSignature }: Loose<TextBlock> = value
  return type === "text" && typeof text === "string" && isOptional(textSignature, "string")
}

export const isThinkingBlock = (value: UnknownBlock): value is ThinkingBlock => {
  const { type, thinking, thinkingSignature, redacted }: Loose<ThinkingBlock> = value
  return (
    type === "thinking" &&
    typeof thinking === "string" &&
    isOptional(thinkingSignature, "string") &&
    isOptional(redacted, "boolean")
  )
}

export const isImageBlock = (value: UnknownBlock): value is ImageBlock => {
  const { type, data, mimeType }: Loose<ImageBlock> = value
  return type === "image" && typeof data === "string" && typeof mimeType === "string"
}
