/**
 * Checks `exact` contexts against the real Pis on random sessions: the context of each target equals Pi's request, apart
 * from the changes of the provider layer. Pi's own functions make each request from the session file, with the
 * OpenAI-completions layer.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import { type PiVersion, versions } from "@pi-sessions/testing/pi/PiVersion"
import * as ProviderLayer from "@pi-sessions/testing/pi/ProviderLayer"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SampleCut from "../src/SampleCut.ts"
import { type Turn } from "../src/Turn.ts"
import { SessionImages } from "../src/SessionImages.ts"
import { type PlainMessage, conversation, sent } from "./support/openAiCompletions.ts"

const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 30, campaign: 300 })
const FIRST_SEED = Dose.firstSeed()

const decodeMessages = Schema.decodeUnknownSync(Schema.Struct({ messages: Schema.Array(ScriptedModel.ChatMessage) }))

/** Pi's request for an answer of a session. */
const requestFor = async (pi: PiModule.PiModule, file: string, target: Turn): Promise<ReadonlyArray<PlainMessage>> => {
  const manager = pi.SessionManager.open(file)
  const entry = manager.getEntry(target.uuid)
  const context = pi.buildSessionContext(manager.getEntries(), entry?.parentId ?? null)
  const { model: id = "", provider = "" } = target.metadata
  const messages = pi.convertToLlm(context.messages)
  const payload = await ProviderLayer.payload(pi.version, "openai-completions", { messages, model: { id, provider } })
  return conversation(pi.version, decodeMessages(payload).messages)
}

describe.each(versions)("contexts of samples of random sessions of Pi %s", (version: PiVersion) => {
  it.effect("are what Pi sends if they are marked as exact", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const seen = { exact: 0, reduced: 0, halves: 0, images: 0, empty: 0, foreign: 0 }
      for (let seed = FIRST_SEED; seed < FIRST_SEED + WALKS; seed++) {
        const dir = Path.join(root, String(seed))
        const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv/app" }))
        const { samples } = SampleCut.cut(Session.read(Fs.readFileSync(walk.file)), {
          sourcePath: walk.file,
          role: { role: "unknown", roleSource: "none" },
          branches: "all",
          // A walk of 1.5 without a system message looks like one of 0.78.
          profile: version,
          tools: [],
          images: new SessionImages()
        })
        for (const { first_target, metadata, turns } of samples) {
          seen[metadata.context]++
          if (metadata.context === "reduced") continue
          for (const [at, target] of turns.entries()) {
            if (target.role !== "assistant" || at < first_target) continue
            if (target.metadata.api !== "openai-completions") continue
            const ours = sent(version, turns.slice(0, at), target)
            const theirs = yield* Effect.promise(() => requestFor(pi, walk.file, target))
            assert.deepStrictEqual(ours, theirs, `Pi ${version}, seed ${seed}, sample ${metadata.sample}, turn ${at}`)
            for (const { calls, text } of theirs) {
              if (text.includes("a lone high surrogate  and")) seen.halves++
              if (text === "(see attached image)") seen.images++
              if (text === "(no tool output)") seen.empty++
              if (calls.some(({ id }) => id.includes("_fc_"))) seen.foreign++
            }
          }
        }
      }
      process.stdout.write(`SentContexts: Pi ${version}: ${JSON.stringify(seen)}\n`)
      for (const what of ["exact", "halves", "images"] as const) assert.isAbove(seen[what], 0, what)
      if (version === "1.5") assert.isAbove(seen.empty + seen.foreign, 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
