/**
 * Reads a model's text files from its directory: `tokenizer.json`, `tokenizer_config.json`, and the chat template in
 * `chat_template.jinja` or in the latter. Downloads nothing.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as TextFile from "@pi-sessions/session-file/TextFile"
import { ChatTemplate, type Sources } from "./ChatTemplate.ts"
import { ModelTokenizer } from "./ModelTokenizer.ts"

export interface LocalModel {
  /** Name of the directory. */
  readonly name: string
  readonly tokenizer: ModelTokenizer
  readonly template: ChatTemplate
  /** The model's maximum length in tokens, if its files state one. */
  readonly maxTokens: number | undefined
}

export class NoLocalModel extends Schema.TaggedError<NoLocalModel>()("NoLocalModel", {
  directory: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.directory}: ${this.reason}`
  }
}

/** A special token: a string, or an object with its `content`. */
const SpecialToken = Schema.Union([Schema.String, Schema.Struct({ content: Schema.String })])
const contentOf = (token: typeof SpecialToken.Type): string => (typeof token === "string" ? token : token.content)

const NamedTemplate = Schema.Struct({ name: Schema.String, template: Schema.String })

const Config = Schema.StructWithRest(
  Schema.Struct({
    chat_template: Schema.optional(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(NamedTemplate)]))),
    model_max_length: Schema.optional(Schema.NullOr(Schema.Number))
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
type Config = typeof Config.Type

const TokenizerJson = Schema.StructWithRest(Schema.Struct({ model: Schema.Record(Schema.String, Schema.Unknown) }), [
  Schema.Record(Schema.String, Schema.Unknown)
])

const decodeConfig = Schema.decodeUnknownEffect(Config)
const decodeTokenizer = Schema.decodeUnknownEffect(TokenizerJson)
const isSpecialToken = Schema.is(SpecialToken)

/** Models without a limit state an astronomic number. */
const MOST_TOKENS = 1e9

const TOKENIZER = "tokenizer.json"
const CONFIG = "tokenizer_config.json"
const TEMPLATE = "chat_template.jinja"

/** Special tokens by the names that templates use: `bos_token`, `eos_token` and so on. */
const tokensOf = (config: Config): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(config).flatMap(([name, token]) =>
      name.endsWith("_token") && isSpecialToken(token) ? [[name, contentOf(token)]] : []
    )
  )

const sourcesOf = (template: string | undefined, { chat_template }: Config): Sources | undefined => {
  if (template !== undefined) return { default: template }
  if (typeof chat_template === "string") return { default: chat_template }
  const named = (name: string) => chat_template?.find((one) => one.name === name)?.template
  const whole = named("default")
  const withTools = named("tool_use")
  if (whole === undefined) return undefined
  return withTools === undefined ? { default: whole } : { default: whole, tool_use: withTools }
}

/** The model's text files. Plain data, so that it can be sent to worker threads. */
export interface ModelFiles {
  readonly directory: string
  readonly tokenizer: string
  readonly config: string
  readonly template: string | undefined
  /** SHA-256 in hex over the files that determine the tokens of a conversation. */
  readonly fingerprint: string
}

/** Reads the files from a model's directory. */
export const read = Effect.fn("LocalModel.read")(function* (
  directory: string
): Effect.fn.Return<ModelFiles, NoLocalModel, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = (name: string) =>
    TextFile.read(path.join(directory, name)).pipe(
      Effect.mapError(({ reason }) => new NoLocalModel({ directory, reason: `${name} cannot be read: ${reason}` }))
    )
  const tokenizer = yield* text(TOKENIZER)
  const config = yield* text(CONFIG)
  const hasTemplate = yield* fs.exists(path.join(directory, TEMPLATE)).pipe(Effect.orElseSucceed(() => false))
  const template = hasTemplate ? yield* text(TEMPLATE) : undefined
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([tokenizer, config, template ?? null]))
    .digest("hex")
  return { directory, tokenizer, config, template, fingerprint }
})

/** Makes a model from its files. Loads the libraries on first use. */
export const make = Effect.fn("LocalModel.make")(function* (
  files: ModelFiles
): Effect.fn.Return<LocalModel, NoLocalModel> {
  const { directory } = files
  const broken = (reason: string) => new NoLocalModel({ directory, reason })
  const json = (name: string, text: string) =>
    Effect.mapError(TextFile.parse(name, text), ({ reason }) => broken(`${name}: ${reason}`))
  const file = yield* Effect.flatMap(json(TOKENIZER, files.tokenizer), decodeTokenizer).pipe(
    Effect.catchTag("SchemaError", () => Effect.fail(broken(`${TOKENIZER} is not a valid tokenizer file`)))
  )
  const config = yield* Effect.flatMap(json(CONFIG, files.config), decodeConfig).pipe(
    Effect.catchTag("SchemaError", () => Effect.fail(broken(`${CONFIG} is not a valid tokenizer configuration`)))
  )
  const sources = sourcesOf(files.template, config)
  if (sources === undefined) return yield* broken(`no chat template, neither ${TEMPLATE} nor in ${CONFIG}`)
  const tokens = tokensOf(config)
  const [jinja, tokenizers] = yield* Effect.promise(() =>
    Promise.all([import("@huggingface/jinja"), import("@huggingface/tokenizers")])
  )
  const made = <A>(what: string, make: () => A): Effect.Effect<A, NoLocalModel> =>
    Effect.try({
      try: make,
      catch: (error) => broken(`${what}: ${error instanceof Error ? error.message : "unknown"}`)
    })
  const tokenizer = yield* made(TOKENIZER, () => new tokenizers.Tokenizer(file, config))
  const template = yield* made("the chat template", () => new ChatTemplate(jinja, sources, tokens))
  const endings = [tokens["bos_token"], tokens["eos_token"]].filter((token) => token !== undefined)
  const { model_max_length: most } = config
  return {
    name: directory.split(/[/\\]/u).findLast((part) => part !== "") ?? directory,
    tokenizer: new ModelTokenizer(tokenizer, file, endings),
    template,
    maxTokens: typeof most === "number" && most < MOST_TOKENS ? most : undefined
  }
})

/** Reads and makes the model in a directory. */
export const load = (directory: string): Effect.Effect<LocalModel, NoLocalModel, FileSystem.FileSystem | Path.Path> =>
  Effect.flatMap(read(directory), make)
