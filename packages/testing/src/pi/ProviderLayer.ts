/**
 * The real provider layers of both Pis: what each would send for given messages. A layer builds its request, passes it
 * to `onPayload` and is stopped there, so nothing is sent and no key is needed.
 *
 * The SDKs of most providers are not installed for 0.78 (pnpm-workspace.yaml). Its layers use them only to send, so
 * empty classes replace them.
 */
import * as Fs from "node:fs"
import * as Module from "node:module"
import * as Path from "node:path"
import * as Url from "node:url"
import * as PiVersion from "./PiVersion.ts"

/** The layers, by the name of the API in sessions: the file and the function of 0.78. */
const LAYERS = {
  "openai-completions": ["openai-completions.js", "streamOpenAICompletions"],
  "openai-responses": ["openai-responses.js", "streamOpenAIResponses"],
  "azure-openai-responses": ["azure-openai-responses.js", "streamAzureOpenAIResponses"],
  "anthropic-messages": ["anthropic.js", "streamAnthropic"],
  "google-generative-ai": ["google.js", "streamGoogle"],
  "google-vertex": ["google-vertex.js", "streamGoogleVertex"],
  "mistral-conversations": ["mistral.js", "streamMistral"],
  "bedrock-converse-stream": ["amazon-bedrock.js", "streamBedrock"]
} as const
export type Api = keyof typeof LAYERS

/** What is sent, and by which model. */
export interface LayerRequest {
  readonly systemPrompt?: string
  /** As Pi hands them to the layer, without system messages. */
  readonly messages: ReadonlyArray<object>
  /** Default: `m1` of provider `p`. */
  readonly model?: { readonly id?: string; readonly provider?: string }
  readonly apiKey?: string
}

interface Context {
  readonly systemPrompt?: string
  readonly messages: ReadonlyArray<object>
}

type Stream = (model: object, context: Context, options: object) => AsyncIterable<unknown>

const SDKS = /^(?:@anthropic-ai|@google\/genai|@mistralai|@aws-sdk|@smithy)/u

/** Replaces every SDK. Members of their enums are their names in lower case. */
const NO_SDK = `data:text/javascript,${encodeURIComponent(`
class Client { config = {}; middlewareStack = { add() {} } }
const words = new Proxy({}, { get: (_, name) => String(name).toLowerCase() })
export default Client
export { Client as GoogleGenAI, Client as Mistral, Client as BedrockRuntimeClient, Client as NodeHttpHandler,
  Client as ConverseStreamCommand, Client as BedrockRuntimeServiceException, words as FinishReason,
  words as FunctionCallingConfigMode, words as ResourceScope, words as ThinkingLevel, words as StopReason,
  words as CachePointType, words as CacheTTL, words as ConversationRole, words as ImageFormat, words as ToolResultStatus }
`)}`

let isHooked = false
const withoutSdks = (): void => {
  if (isHooked) return
  isHooked = true
  Module.registerHooks({
    resolve: (specifier, context, next) =>
      SDKS.test(specifier) && context.parentURL?.includes("/pi-ai/dist/providers/") === true
        ? { url: NO_SDK, shortCircuit: true }
        : next(specifier, context)
  })
}

const fileOf = (version: PiVersion.PiVersion, api: Api): string => {
  const dir = PiVersion.packageDir(version)
  if (version === "0.78") return Path.join(dir, "..", "pi-ai", "dist", "providers", LAYERS[api][0])
  const chunks = Path.join(dir, "dist", "bundle", "chunks")
  const name = new RegExp(`^${api}(?:-[A-Z0-9]{8})?\\.js$`, "u")
  const chunk = Fs.readdirSync(chunks).find((file) => name.test(file))
  if (chunk === undefined) throw new Error(`no chunk of Pi ${version} is the layer ${api}`)
  return Path.join(chunks, chunk)
}

const isStream = (value: unknown): value is Stream => typeof value === "function"

const streamOf = async (version: PiVersion.PiVersion, api: Api): Promise<Stream> => {
  withoutSdks()
  const file = fileOf(version, api)
  const exports: unknown = await import(/* @vite-ignore */ Url.pathToFileURL(file).href)
  const name = version === "0.78" ? LAYERS[api][1] : "stream"
  const stream: unknown = typeof exports === "object" && exports !== null ? Reflect.get(exports, name) : undefined
  if (!isStream(stream)) throw new Error(`${file} does not export ${name}`)
  return stream
}

/** The request that the layer would send. Fails if the layer fails before it. */
export const payload = async (
  version: PiVersion.PiVersion,
  api: Api,
  { apiKey = "key", messages, model, systemPrompt = "" }: LayerRequest
): Promise<unknown> => {
  const stream = await streamOf(version, api)
  const target = {
    id: "m1",
    name: "m1",
    provider: "p",
    ...model,
    api,
    baseUrl: "http://127.0.0.1:9/v1",
    reasoning: true,
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 100_000,
    maxTokens: 1000
  }
  const system = { role: "system", content: systemPrompt, timestamp: 0 }
  const context =
    systemPrompt === ""
      ? { messages }
      : version === "0.78"
        ? { systemPrompt, messages }
        : { messages: [system, ...messages] }
  const made: Array<unknown> = []
  const options = {
    apiKey,
    project: "project",
    location: "here",
    region: "us-east-1",
    onPayload: (one: unknown) => {
      made.push(JSON.parse(JSON.stringify(one)))
      throw new Error("stopped before anything is sent")
    }
  }
  let last: unknown
  for await (const event of stream(target, context, options)) last = event
  if (made.length === 0) throw new Error(`the layer ${api} of Pi ${version} made no request: ${JSON.stringify(last)}`)
  return made[0]
}
