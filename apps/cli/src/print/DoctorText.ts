/** The findings of `doctor` as text and as JSON. */
import { type Finding, countOf, format } from "@pi-sessions/catalog/SessionFinding"
import type { Change } from "@pi-sessions/catalog/RepairChange"
import { counted } from "./Words.ts"
import * as TerminalText from "@pi-sessions/report/TerminalText"

export interface FileReport {
  readonly path: string
  readonly entries: number
  readonly findings: ReadonlyArray<Finding>
  /** Undefined without --fix, and if there was nothing to repair. */
  readonly repaired:
    | {
        readonly path: string
        readonly id: string
        readonly changes: ReadonlyArray<Change>
        readonly left: ReadonlyArray<Finding>
      }
    | undefined
}

/** The findings of a file, each with the reaction of both Pis; no lines for a sound file. */
export const lines = ({ path, findings, repaired }: FileReport): ReadonlyArray<string> =>
  findings.length === 0
    ? []
    : [
        path,
        ...findings.flatMap((finding) => [
          `  ${TerminalText.line(format(finding) + entryOf(finding))}`,
          ...reactions(finding),
          ...mend(finding),
          ...others(finding)
        ]),
        ...(repaired === undefined
          ? []
          : [
              `  repaired copy: ${repaired.path} (${counted(repaired.changes.length, "change")}), session ${repaired.id}`
            ])
      ]

const entryOf = ({ entryId }: Finding): string => (entryId === undefined ? "" : ` (entry ${JSON.stringify(entryId)})`)

const reactions = ({ pi }: Finding): ReadonlyArray<string> => {
  const [old, now] = [pi["0.78"], pi["1.5"]]
  return old.does === now.does && old.says === now.says
    ? [`    Pi ${old.says}`]
    : [`    Pi 0.78 ${old.says}`, `    Pi 1.5 ${now.says}`]
}

const mend = ({ mend, severity }: Finding): ReadonlyArray<string> =>
  mend === null ? (severity === "error" ? ["    --fix: cannot repair it"] : []) : [`    --fix: ${mend}`]

const others = ({ code, more }: Finding): ReadonlyArray<string> =>
  more === undefined ? [] : [`    and ${more.count} more of ${code}, up to line ${more.lastLine}`]

/** The number of findings, with those that are counted but not listed. */
export const total = (findings: ReadonlyArray<Finding>): number =>
  findings.reduce((sum, finding) => sum + countOf(finding), 0)

/** The lines of the JSON document. A generator, because the whole may be longer than the longest string. */
export function* document(
  reports: ReadonlyArray<FileReport>,
  skipped: ReadonlyArray<{ readonly path: string; readonly reason: string }>
): Generator<string> {
  yield "{"
  yield reports.length === 0 ? '  "sessions": [],' : '  "sessions": ['
  for (const [at, report] of reports.entries()) {
    yield `    ${json({ ...report, repaired: listed(report.repaired) }, 4)}${at + 1 < reports.length ? "," : ""}`
  }
  if (reports.length > 0) yield "  ],"
  yield `  "skipped": ${json(skipped, 2)}`
  yield "}"
}

const json = (value: unknown, indent: number): string =>
  TerminalText.json(JSON.stringify(value, null, 2)).replaceAll("\n", `\n${" ".repeat(indent)}`)

/** Changes that the document lists for one copy. */
const LISTED = 10_000

const listed = (repaired: FileReport["repaired"]): object | null => {
  if (repaired === undefined) return null
  const { changes } = repaired
  return changes.length <= LISTED
    ? repaired
    : { ...repaired, changes: changes.slice(0, LISTED), moreChanges: changes.length - LISTED }
}

export const summary = (reports: ReadonlyArray<FileReport>): string => {
  const findings = reports.flatMap((report) => report.findings)
  const of = (severity: Finding["severity"]) => total(findings.filter((finding) => finding.severity === severity))
  const examined = `${counted(reports.length, "session")} examined`
  return findings.length === 0
    ? `${examined}, nothing found`
    : `${examined}: ${counted(of("error"), "error")}, ${counted(of("warning"), "warning")}, ${counted(of("note"), "note")}`
}
