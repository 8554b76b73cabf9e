/** What `extract` and `merge` say of the dataset that they wrote. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { scanExternally } from "@pi-sessions/extract/publish/ExternalScan"
import { type ExtractReport } from "@pi-sessions/extract/ExtractReport"
import { CommandFailed } from "../../Exit.ts"
import * as ExtractTable from "../../print/ExtractTable.ts"
import { Invocation } from "../../Invocation.ts"
import { type SameInput } from "../extract.ts"
import * as Warnings from "./sessionWarnings.ts"

export const printReport = Effect.fnUntraced(function* (report: ExtractReport, { json, scan }: SameInput, out: string) {
  const invocation = yield* Invocation
  for (const { path, reason } of report.skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
  yield* Warnings.print(report.rows)
  for (const { path, volume } of report.rows) {
    const places = volume?.diagnostics ?? 0
    if (places > 0)
      yield* invocation.note(`warning: ${path}: damaged in ${places} ${places === 1 ? "place" : "places"}`)
  }
  for (const { path, samples } of report.outputs.files) {
    const what = path.endsWith("-continued.jsonl") ? ", prompt and completion: their context holds answers" : ""
    yield* invocation.note(`wrote ${path}: ${samples} ${samples === 1 ? "sample" : "samples"}${what}`)
  }
  const loose = new Map<string, number>()
  for (const { path } of report.outputs.loose ?? []) {
    const [folder = ""] = path.split("/")
    loose.set(folder, (loose.get(folder) ?? 0) + 1)
  }
  for (const [folder, count] of loose) {
    yield* invocation.note(`wrote ${folder}/ in ${out}: ${count} ${count === 1 ? "file" : "files"}`)
  }
  for (const path of report.outputs.sidecars ?? []) yield* invocation.note(`wrote ${path}`)
  yield* invocation.note(
    report.is_redacted
      ? "secrets and names were taken out by rules: look through it all the same before you share it"
      : "this data is not redacted: look through it before you share it"
  )
  if (Option.isSome(scan)) {
    yield* scanExternally(scan.value, out).pipe(Effect.mapError((error) => new CommandFailed({ text: error.message })))
    yield* invocation.note(`${scan.value} found nothing`)
  }
  yield* invocation.result(json ? JSON.stringify(report, null, 2) : ExtractTable.render(report).join("\n"))
  yield* Warnings.failIfStopped(report.rows)
})
