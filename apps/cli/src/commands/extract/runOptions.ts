/** The options of `extract` and `merge`, with the services that they run on. */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SessionDiscovery from "@pi-sessions/catalog/SessionDiscovery"
import * as GasTown from "@pi-sessions/core/GasTown"
import { Extract } from "@pi-sessions/extract/Extract"
import { type ExtractOptions, type ExtractProgress } from "@pi-sessions/extract/ExtractOptions"
import { type ThreadOptions } from "@pi-sessions/extract/parts/WorkerThreads"
import { UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { inState } from "../../StateFolder.ts"
import { VERSION } from "../../Version.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import { type SameInput } from "../extract.ts"
import { chosen } from "./chosenOptions.ts"
import { checkOut } from "../../flags/NamedFile.ts"
import * as Workers from "./workers.ts"

const defaultOut = (rigs: ReadonlyArray<string>, roles: ReadonlyArray<string>): string => {
  const chosen = [...rigs, ...roles].map((name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-|-$/g, ""))
  return ["dataset", ...chosen].join("-")
}

/** The options that flags give, and what is told of them. */
export const options = Effect.fnUntraced(function* (
  input: SameInput
): Effect.fn.Return<
  ExtractOptions,
  Effect.Error<ReturnType<typeof chosen>>,
  Effect.Services<ReturnType<typeof chosen>>
> {
  const invocation = yield* Invocation
  const out = invocation.resolve(Option.getOrElse(input.out, () => defaultOut(input.rig, input.role)))
  yield* checkOut("--out", out)
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
      "nothing has changed since the last run: the dataset is as it was (--fresh makes it anew)"
    ),
    onProgress: yield* progress
  }
})

/** How far it is, how fast, and how long it may take. */
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

/** Extract, reading the sessions that were named, or those that Pi keeps. */
export const services = Effect.fnUntraced(function* (
  sessions: ReadonlyArray<string>,
  threads: Pick<ThreadOptions, "threads" | "sessionSeconds">
) {
  const invocation = yield* Invocation
  if (sessions.includes("")) {
    return yield* new UsageError({ text: "--sessions is empty; give a session file or a directory" })
  }
  const { roots, missing } = yield* SessionDiscovery.discover({ sessions, cwd: invocation.cwd })
  for (const { path, why } of [...roots, ...missing]) {
    if (why !== "--sessions") yield* invocation.note(`sessions: ${path} (${why})`)
  }
  const source = StoredSessions.layerPaths(roots.map(({ path }) => path))
  return Extract.layerWith.pipe(Layer.provide(Workers.layer(threads)), Layer.provide(source))
})
