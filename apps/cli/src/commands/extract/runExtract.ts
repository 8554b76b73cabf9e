/** Running `extract`: what was chosen, the run, what came of it. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SessionDiscovery from "@pi-sessions/catalog/SessionDiscovery"
import * as GasTown from "@pi-sessions/core/GasTown"
import { scanExternally } from "@pi-sessions/extract/ExternalScan"
import { Extract } from "@pi-sessions/extract/Extract"
import { CommandFailed, UsageError } from "../../Exit.ts"
import * as ExtractTable from "../../ExtractTable.ts"
import { Invocation } from "../../Invocation.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import { type Input } from "../extract.ts"
import { chosen } from "./chosenOptions.ts"

const defaultOut = (rigs: ReadonlyArray<string>, roles: ReadonlyArray<string>): string => {
  const chosen = [...rigs, ...roles].map((name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-|-$/g, ""))
  return ["dataset", ...chosen].join("-")
}

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  if (input.sessions.includes("")) {
    return yield* new UsageError({ text: "--sessions is empty; give a session file or a directory" })
  }
  const options = yield* chosen(input)
  const out = invocation.resolve(Option.getOrElse(input.out, () => defaultOut(input.rig, input.role)))
  const { roots, missing } = yield* SessionDiscovery.discover({ sessions: input.sessions, cwd: invocation.cwd })
  for (const { path, why } of [...roots, ...missing]) {
    if (why !== "--sessions") yield* invocation.note(`sessions: ${path} (${why})`)
  }
  for (const rig of input.rig) {
    const meaning = GasTown.describeSelector(rig, { includeDogs: input.includeDogs })
    if (meaning !== undefined) yield* invocation.note(meaning)
  }

  const report = yield* Effect.flatMap(Extract, (service) =>
    service.run({
      ...options,
      rigs: input.rig,
      roles: input.role,
      format: input.format,
      out,
      includeDogs: input.includeDogs,
      includeHydrated: input.includeHydrated,
      onProgress: (done, total) => invocation.progress(`${done} of ${total} sessions`)
    })
  ).pipe(
    Effect.ensuring(invocation.progress("")),
    Effect.provide(Layer.provide(Extract.layer, StoredSessions.layerPaths(roots.map(({ path }) => path)))),
    Effect.mapError((error) =>
      error._tag === "NothingMatched"
        ? new UsageError({ text: error.message })
        : new CommandFailed({ text: error.message })
    )
  )
  for (const { path, reason } of report.skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
  for (const { path, outcome, detail } of report.rows) {
    if (outcome === "unreadable" || outcome === "invalid_sample") {
      yield* invocation.note(`warning: ${path}: ${outcome.replace("_", " ")}: ${detail ?? ""}`)
    }
  }
  for (const { path, volume } of report.rows) {
    const places = volume?.diagnostics ?? 0
    if (places > 0)
      yield* invocation.note(`warning: ${path}: damaged in ${places} ${places === 1 ? "place" : "places"}`)
  }
  for (const { path, samples } of report.outputs.files) {
    const what = path.endsWith("-continued.jsonl") ? ", prompt and completion: their context holds answers" : ""
    yield* invocation.note(`wrote ${path}: ${samples} ${samples === 1 ? "sample" : "samples"}${what}`)
  }
  for (const path of report.outputs.sidecars ?? []) yield* invocation.note(`wrote ${path}`)
  yield* invocation.note(
    report.is_redacted
      ? "secrets and names were taken out by rules: look through it all the same before you share it"
      : "this data is not redacted: look through it before you share it"
  )
  if (Option.isSome(input.scan)) {
    yield* scanExternally(input.scan.value, out).pipe(
      Effect.mapError((error) => new CommandFailed({ text: error.message }))
    )
    yield* invocation.note(`${input.scan.value} found nothing`)
  }
  yield* invocation.result(input.json ? JSON.stringify(report, null, 2) : ExtractTable.render(report).join("\n"))
})
