/** The formats by name. */
import { AxolotlFormat } from "./AxolotlFormat.ts"
import { DpoFormat } from "./DpoFormat.ts"
import { type FormatName } from "./FormatName.ts"
import { LlamaFactoryFormat } from "./LlamaFactoryFormat.ts"
import { LoraForgeFormat } from "./LoraForgeFormat.ts"
import { MessagesFormat } from "./MessagesFormat.ts"
import { MistralFormat } from "./MistralFormat.ts"
import { MsSwiftFormat } from "./MsSwiftFormat.ts"
import { OpenAiFormat } from "./OpenAiFormat.ts"
import { ParquetFormat } from "./ParquetFormat.ts"
import { PiFormat } from "./PiFormat.ts"
import { type SampleFormat } from "./SampleFormat.ts"
import { ShareGptFormat } from "./ShareGptFormat.ts"
import { TokensFormat } from "./TokensFormat.ts"

export const FORMATS: { readonly [Name in FormatName]: SampleFormat<unknown> } = {
  messages: MessagesFormat,
  axolotl: AxolotlFormat,
  sharegpt: ShareGptFormat,
  "llama-factory": LlamaFactoryFormat,
  "ms-swift": MsSwiftFormat,
  openai: OpenAiFormat,
  mistral: MistralFormat,
  "lora-forge": LoraForgeFormat,
  dpo: DpoFormat,
  tokens: TokensFormat,
  parquet: ParquetFormat,
  pi: PiFormat
}
