/**
 * A private agent folder for Pi: the scripted model as its only provider, and nothing that reaches the network.
 */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"

/**
 * The models in the folder. All take text and images.
 *
 * - `fake-1`: a context so large that Pi never compacts by itself
 * - `fake-thinking`: the same, and it reasons
 * - `fake-small`: 32,000 tokens, so that Pi compacts by itself
 */
export type ModelId = "fake-1" | "fake-thinking" | "fake-small"

const largeContext = 50_000_000

const model = (id: ModelId, options: { readonly reasoning: boolean; readonly contextWindow: number }) => ({
  id,
  name: id,
  reasoning: options.reasoning,
  input: ["text", "image"],
  contextWindow: options.contextWindow,
  maxTokens: 8192,
  cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 }
})

const models = (url: string) => ({
  providers: {
    fake: {
      baseUrl: url,
      api: "openai-completions",
      apiKey: "not-a-key",
      compat: { supportsDeveloperRole: false, supportsReasoningEffort: true },
      models: [
        model("fake-1", { reasoning: false, contextWindow: largeContext }),
        model("fake-thinking", { reasoning: true, contextWindow: largeContext }),
        model("fake-small", { reasoning: false, contextWindow: 32_000 })
      ]
    }
  }
})

const settings = {
  defaultProvider: "fake",
  defaultModel: "fake-1",
  quietStartup: true,
  enableInstallTelemetry: false,
  retry: { enabled: false }
}

/** Writes `models.json` and `settings.json` into `dir`, which is created if necessary. */
export const write = Effect.fnUntraced(function* (dir: string, modelUrl: string) {
  yield* Effect.promise(() => Fs.mkdir(dir, { recursive: true }))
  yield* Effect.promise(() => Fs.writeFile(Path.join(dir, "models.json"), JSON.stringify(models(modelUrl))))
  yield* Effect.promise(() => Fs.writeFile(Path.join(dir, "settings.json"), JSON.stringify(settings)))
})
