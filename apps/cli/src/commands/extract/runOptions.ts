/** The options and services of `extract` and `merge`. */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as GasTown from "@pi-sessions/core/GasTown"
import { Extract } from "@pi-sessions/extract/Extract"
import { type ExtractOptions, type ExtractProgress } from "@pi-sessions/extract/ExtractOptions"
import { type ThreadOptions } from "@pi-sessions/extract/workers/WorkerThreads"
import { Invocation } from "../../Invocation.ts"
import { inState } from "../../StateFolder.ts"
import { VERSION } from "../../Version.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import * as NamedSources from "../../flags/NamedSources.ts"
import { type DatasetInput } from "../extract.ts"
import { chosen } from "./chosenOptions.ts"
import { outDirectory } from "../../flags/NamedFile.ts"
import * as Workers from "./workers.ts"

const defaultOut = (rigs: ReadonlyArray<string>, roles: ReadonlyArray<string>): string => {
  const chosen = [...rigs, ...roles].map((name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-|-$/g, ""))
  return ["dataset", ...chosen].join("-")
}

/** The options that the flags give. Prints what `--rig` selects. */
export const options = Effect.fnUntraced(function* (
  input: DatasetInput
): Effect.fn.Return<
  ExtractOptions,
  Effect.Error<ReturnType<typeof chosen>>,
  Effect.Services<ReturnType<typeof chosen>>
> {
  const invocation = yield* Invocation
  const out = yield* outDirectory(
    "--out",
    Option.getOrElse(input.out, () => defaultOut(input.rig, input.role))
  )
  const given = yield* chosen(input)
  for (const rig of input.rig) {
    const meaning = GasTown.describeSelector(rig, { includeDogs: input.includeDogs })
    if (meaning !== undefined) yield* invocation.note(meaning)
  }
  return {
    ...given,
    rigs: input.rig,
    roles: input.role,
    format: input.format,
    out,
    program: VERSION,
    ledger: yield* inState("datasets", `${createHash("sha256").update(out).digest("hex").slice(0, 32)}.jsonl`),
    perRole: input.perRole,
    ...(Option.isSome(input.maxFileMb) ? { maxFileBytes: input.maxFileMb.value * 1e6 } : {}),
    includeDogs: input.includeDogs,
    includeHydrated: input.includeHydrated,
    onUnchanged: invocation.note(
      "nothing changed since the last run: the dataset stays as it is (--fresh makes it again)"
    ),
    onProgress: yield* progress
  }
})

/** Shows sessions done, speed and remaining time. */
const progress = Effect.gen(function* () {
  const invocation = yield* Invocation
  const begun = yield* Clock.currentTimeMillis
  return Effect.fnUntraced(function* ({ done, doneBytes, total, totalBytes }: ExtractProgress) {
    const seconds = ((yield* Clock.currentTimeMillis) - begun) / 1000
    const rate = doneBytes / Math.max(seconds, 0.001)
    const left = (totalBytes - doneBytes) / Math.max(rate, 1)
    const speed = seconds < 2 ? "" : `, ${(rate / 1e6).toFixed(0)} MB/s, ${duration(left)} left`
    yield* invocation.progress(`${done} of ${total} sessions${speed}`)
  })
})

const duration = (seconds: number): string => {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  if (seconds < 3600) return `${Math.ceil(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

/** The service `Extract` over the sessions of `--sessions`, or of Pi's own places. */
export const services = Effect.fnUntraced(function* (
  sessions: ReadonlyArray<string>,
  threads: Pick<ThreadOptions, "threads" | "sessionSeconds">
) {
  yield* FlagCheck.all(FlagCheck.emptySessions(sessions))
  const source = yield* NamedSources.layer(sessions)
  return Extract.layerWith.pipe(Layer.provide(Workers.layer(threads)), Layer.provide(source))
})
