/**
 * A report as it may lie beside a dataset that is shared: texts without secrets, and files by their names alone, since the
 * directories that they lie in tell who works where.
 */
import { type ExtractReport } from "../ExtractReport.ts"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { nameOf } from "@pi-sessions/core/FileName"

export const of = (report: ExtractReport, redactor: Redactor): ExtractReport => {
  const { outputs, rows, skipped } = report
  /** A text that belongs to the file at `path`, which it may name. */
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
