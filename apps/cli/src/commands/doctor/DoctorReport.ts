/** What `doctor` prints. */
import { type Finding, format } from "@pi-sessions/catalog/SessionFinding"
import type { Change } from "@pi-sessions/catalog/SessionRepair"
import * as TerminalText from "@pi-sessions/report/TerminalText"

export interface FileReport {
  readonly path: string
  readonly entries: number
  readonly findings: ReadonlyArray<Finding>
  /** Undefined without --fix, and where there was nothing to mend. */
  readonly repaired:
    | {
        readonly path: string
        readonly id: string
        readonly changes: ReadonlyArray<Change>
        readonly left: ReadonlyArray<Finding>
      }
    | undefined
}

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** A file's findings, each with what the Pis do; nothing for a file without. */
export const lines = ({ path, findings, repaired }: FileReport): ReadonlyArray<string> =>
  findings.length === 0
    ? []
    : [
        path,
        ...findings.flatMap((finding) => [
          `  ${TerminalText.line(format(finding))}`,
          ...reactions(finding),
          ...mend(finding)
        ]),
        ...(repaired === undefined
          ? []
          : [
              `  repaired copy: ${repaired.path} (${counted(repaired.changes.length, "change")}), session ${repaired.id}`
            ])
      ]

const reactions = ({ pi }: Finding): ReadonlyArray<string> => {
  const [old, now] = [pi["0.78"], pi["1.5"]]
  return old.does === now.does && old.says === now.says
    ? [`    Pi ${old.says}`]
    : [`    Pi 0.78 ${old.says}`, `    Pi 1.5 ${now.says}`]
}

const mend = ({ mend, severity }: Finding): ReadonlyArray<string> =>
  mend === null ? (severity === "error" ? ["    --fix: cannot mend it"] : []) : [`    --fix: ${mend}`]

/** One document of a run. */
export const document = (
  reports: ReadonlyArray<FileReport>,
  skipped: ReadonlyArray<{ readonly path: string; readonly reason: string }>
): string =>
  TerminalText.json(
    JSON.stringify(
      { sessions: reports.map((report) => ({ ...report, repaired: report.repaired ?? null })), skipped },
      null,
      2
    )
  )

export const summary = (reports: ReadonlyArray<FileReport>): string => {
  const findings = reports.flatMap((report) => report.findings)
  const of = (severity: Finding["severity"]) => findings.filter((finding) => finding.severity === severity).length
  const examined = `${counted(reports.length, "session")} examined`
  return findings.length === 0
    ? `${examined}, nothing found`
    : `${examined}: ${counted(of("error"), "error")}, ${counted(of("warning"), "warning")}, ${counted(of("note"), "note")}`
}
