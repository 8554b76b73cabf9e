/**
 * The report for a dataset that may be shared: texts are redacted, and files are named without their directories, which
 * would reveal who works where.
 */
import { type ExtractReport } from "../ExtractReport.ts"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { nameOf } from "@pi-sessions/core/FileName"

export const of = (report: ExtractReport, redactor: Redactor): ExtractReport => {
  const { outputs, rows, skipped } = report
  /** Redacts a text about the file at `path`. */
  const text = (value: string, path: string): string =>
    redactor.scope([path]).text(path === "" ? value : value.replaceAll(path, nameOf(path)))
  return {
    ...report,
    rigs: report.rigs.map((rig) => text(rig, "")),
    skipped: skipped.map(({ path, reason }) => ({ path: text(path, path), reason: text(reason, path) })),
    outputs: {
      ...outputs,
      train: nameOf(outputs.train),
      files: outputs.files.map((file) => ({ ...file, path: nameOf(file.path) })),
      ...(outputs.sidecars === undefined ? {} : { sidecars: outputs.sidecars.map(nameOf) }),
      report: nameOf(outputs.report)
    },
    rows: rows.map((row) => {
      const { address, detail, path, rig, session_id } = row
      return {
        ...row,
        path: text(path, path),
        ...(detail === undefined ? {} : { detail: text(detail, path) }),
        ...(session_id === undefined ? {} : { session_id: text(session_id, path) }),
        ...(rig === undefined ? {} : { rig: text(rig, path) }),
        ...(address === undefined ? {} : { address: text(address, path) })
      }
    })
  }
}
