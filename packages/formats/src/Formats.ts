/** The formats by name. */
import { AxolotlFormat } from "./AxolotlFormat.ts"
import { DpoFormat } from "./DpoFormat.ts"
import { LlamaFactoryFormat } from "./LlamaFactoryFormat.ts"
import { LoraForgeFormat } from "./LoraForgeFormat.ts"
import { MessagesFormat } from "./MessagesFormat.ts"
import { MistralFormat } from "./MistralFormat.ts"
import { MsSwiftFormat } from "./MsSwiftFormat.ts"
import { OpenAiFormat } from "./OpenAiFormat.ts"
import { ParquetFormat } from "./ParquetFormat.ts"
import * as PiFormat from "./PiFormat.ts"
import { type FormatName } from "./FormatName.ts"
import { type SampleFormat } from "./Sample.ts"
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
  // A session is kept if it gives at least one sample in format `messages`.
  pi: { ...MessagesFormat, name: "pi", wholeSession: { project: PiFormat.project, validate: PiFormat.validate } }
}
