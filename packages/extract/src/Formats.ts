/** The formats by name. */
import { MessagesFormat } from "./MessagesFormat.ts"
import { type FormatName, type SampleFormat } from "./Sample.ts"
import { ShareGptFormat } from "./ShareGptFormat.ts"

export const FORMATS: { readonly [Name in FormatName]: SampleFormat<unknown> } = {
  messages: MessagesFormat,
  sharegpt: ShareGptFormat
}
