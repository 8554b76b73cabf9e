/** Findings in a session's header, and the repair of its version and directory. */
import { type Json, type JsonObject, stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { CURRENT_VERSION } from "@pi-sessions/core/SessionHeader"
import { both } from "../../FindingRule.ts"
import type { Finding } from "../../SessionFinding.ts"
import { formOf, headerWithoutId } from "./SessionForm.ts"
import { findingAt, placeOf } from "./findingAt.ts"
import { printed } from "./readableText.ts"

/** Bytes that 0.78 reads of a file when it lists sessions. */
const OLD_HEADER_BYTES = 512
/** Bytes that 1.5 reads. */
const HEADER_BYTES = 1 << 20

const UNLISTED = both("reads", "opens it by its path; --continue does not find it")

export interface HeaderFacts {
  /** Whether the header's directory exists; undefined if the caller did not check. */
  readonly cwdExists?: boolean | undefined
}

export const headerFindings = (session: Session.Session, { cwdExists }: HeaderFacts): ReadonlyArray<Finding> => {
  const { header } = session
  const form = formOf(session)
  if (header === undefined || form === undefined) return withoutHeader(session)
  const findings: Array<Finding> = []
  const place = placeOf(header)
  if (Session.asPiReads(session).header === undefined) {
    findings.push(findingAt("header-glued", place, "the header shares its line with something else"))
  }
  if (form.isUnversionedTree) {
    const says = form.header["version"] === undefined ? "no version" : `version ${form.version}`
    findings.push(findingAt("unversioned-tree", place, `the header says ${says}, and the entries are a tree`))
  } else if (form.version < CURRENT_VERSION) {
    findings.push(findingAt("old-version", place, `version ${form.version}`))
  } else if (form.version > CURRENT_VERSION) {
    findings.push(findingAt("newer-version", place, `version ${form.version}; no known Pi writes above 3`))
  }
  if (!isComparable(form.header["version"])) {
    findings.push(findingAt("odd-version", place, "the header's version is no number"))
  }
  const cwd = stringAt(form.header, "cwd")
  if (cwd === undefined && (form.header["cwd"] ?? null) !== null) {
    findings.push(findingAt("odd-cwd", place, "the header's directory is no text"))
  } else if (cwd === undefined || cwd === "") {
    findings.push(findingAt("missing-cwd", place, "the header does not say in which directory the session ran"))
  } else if (cwdExists === false) {
    findings.push(findingAt("cwd-gone", place, `its directory is not there: ${cwd}`))
  }
  const bytes = header.end - header.start
  if (bytes > OLD_HEADER_BYTES) {
    const here = bytes > HEADER_BYTES ? ({ severity: "warning", pi: UNLISTED } as const) : {}
    findings.push(findingAt("long-header", place, `the header has ${bytes} bytes`, here))
  }
  return findings
}

/** Whether Pi can compare the version with a number. */
const isComparable = (version: Json | undefined): boolean => printed(version) !== undefined

/** The header with a version and directory that Pi can read; the same object if they are sound. */
export const mendedHeader = (header: JsonObject): JsonObject => {
  const { cwd, ...rest } = header
  const isOddCwd = cwd !== undefined && cwd !== null && typeof cwd !== "string"
  const sound = isOddCwd ? rest : header
  return isComparable(header["version"]) ? sound : { ...sound, version: CURRENT_VERSION }
}

const withoutHeader = (session: Session.Session): ReadonlyArray<Finding> => {
  const line = session.lines.find((line) => headerWithoutId(line) !== undefined)
  if (line !== undefined) return [findingAt("header-without-id", placeOf(line), "a header without an id")]
  const start = { line: 1, byteOffset: 0 }
  // Pi has not written to an empty file yet.
  if (session.lines.every((line) => line.end === line.start)) return []
  return session.tree.getEntries().length === 0
    ? [findingAt("missing-header", start, "neither a header nor an entry: this is no Pi session")]
    : [findingAt("missing-header", start, 'no line {"type":"session","id":"..."}')]
}
