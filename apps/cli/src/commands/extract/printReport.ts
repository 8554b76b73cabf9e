/** What `extract` and `merge` print about the dataset that they wrote. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { scanExternally } from "@pi-sessions/extract/publish/ExternalScan"
import { type ExtractReport } from "@pi-sessions/extract/ExtractReport"
import { Invocation } from "../../Invocation.ts"
import * as ExtractTable from "../../print/ExtractTable.ts"
import { counted } from "../../print/Words.ts"
import { type DatasetInput } from "../extract.ts"
import * as Warnings from "./sessionWarnings.ts"

/** Sessions that were left out or are damaged. */
const noteSessions = Effect.fnUntraced(function* (report: ExtractReport) {
  const { note } = yield* Invocation
  for (const { path, reason } of report.skipped) yield* note(`warning: ${path}: ${reason}`)
  yield* Warnings.print(report.rows)
  for (const { path, volume } of report.rows) {
    const places = volume?.diagnostics ?? 0
    if (places > 0) yield* note(`warning: ${path}: damaged in ${counted(places, "place")}`)
  }
})

/** Files that were written. */
const noteFiles = Effect.fnUntraced(function* ({ outputs }: ExtractReport, out: string) {
  const { note } = yield* Invocation
  for (const { path, samples } of outputs.files) {
    const what = path.endsWith("-continued.jsonl") ? ", prompt and completion: their context holds answers" : ""
    yield* note(`wrote ${path}: ${counted(samples, "sample")}${what}`)
  }
  const loose = new Map<string, number>()
  for (const { path } of outputs.loose ?? []) {
    const [folder = ""] = path.split("/")
    loose.set(folder, (loose.get(folder) ?? 0) + 1)
  }
  for (const [folder, count] of loose) yield* note(`wrote ${folder}/ in ${out}: ${counted(count, "file")}`)
  for (const path of outputs.sidecars ?? []) yield* note(`wrote ${path}`)
})

export const printReport = Effect.fnUntraced(function* (
  report: ExtractReport,
  { json, scan }: DatasetInput,
  out: string
) {
  const invocation = yield* Invocation
  yield* noteSessions(report)
  yield* noteFiles(report, out)
  yield* invocation.note(
    report.is_redacted
      ? "secrets and names were taken out by rules: look through it all the same before you share it"
      : "this data is not redacted: look through it before you share it"
  )
  if (Option.isSome(scan)) {
    yield* scanExternally(scan.value, out)
    yield* invocation.note(`${scan.value} found nothing`)
  }
  yield* invocation.result(json ? JSON.stringify(report, null, 2) : ExtractTable.render(report).join("\n"))
  yield* Warnings.failIfStopped(report.rows)
})
