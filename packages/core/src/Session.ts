/**
 * A whole session in memory: its lines, its entries and their tree. Printing it gives the bytes that were read, damaged
 * lines included (docs/adr/006-bytes-are-the-truth.md).
 */
import { type SessionDiagnostic } from "./SessionDiagnostic.ts"
import { PiProfile } from "./PiProfile.ts"
import { HeaderLine, SessionEntry, type SessionLine, ValueLine } from "./SessionLine.ts"
import { SessionReader } from "./SessionReader.ts"
import { SessionTree } from "./SessionTree.ts"
import { concat, encodeUtf8 } from "./internal/utf8.ts"

export interface Session {
  /** Undefined when the file has none: Pi does not open such a file. */
  readonly header: HeaderLine | undefined
  /** Every line in file order: header, entries, blank and damaged ones. */
  readonly lines: ReadonlyArray<SessionLine>
  readonly tree: SessionTree
  /** Of the reader and the tree, in file order. */
  readonly diagnostics: ReadonlyArray<SessionDiagnostic>
}

/** The session of lines in file order. */
export const fromLines = (
  lines: ReadonlyArray<SessionLine>,
  readerDiagnostics: ReadonlyArray<SessionDiagnostic> = []
): Session => {
  let header: HeaderLine | undefined
  const entries: Array<SessionEntry> = []
  let leafless: ReadonlyArray<PiProfile> = []
  for (const line of lines) {
    if (line instanceof SessionEntry) {
      entries.push(line)
      leafless = []
    } else if (line instanceof ValueLine) leafless = leaflessWith(leafless, line)
    else if (header === undefined && line instanceof HeaderLine) header = line
  }
  const tree = SessionTree.make(entries, leafless)
  const diagnostics = [...readerDiagnostics, ...tree.diagnostics].sort((a, b) => a.byteOffset - b.byteOffset)
  return { header, lines, tree, diagnostics }
}

/** The Pis that have no leaf after one more value line. */
export const leaflessWith = (before: ReadonlyArray<PiProfile>, line: ValueLine): ReadonlyArray<PiProfile> => {
  if (before.length === PiProfile.literals.length) return before
  return line.leafless.length > before.length ? line.leafless : before
}

/** Reads a session from its bytes, in one or more chunks. Never throws on content. */
export const read = (bytes: Uint8Array | Iterable<Uint8Array>): Session => {
  const reader = new SessionReader()
  const lines: Array<SessionLine> = []
  for (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) {
    for (const line of reader.push(chunk)) lines.push(line)
  }
  for (const line of reader.end()) lines.push(line)
  return fromLines(lines, reader.diagnostics)
}

/** Reads a session from text. */
export const readText = (text: string): Session => read(encodeUtf8(text))

const NEWLINE = encodeUtf8("\n")

/**
 * The bytes of lines in order; lines that are adjacent in memory are one piece. A line without a newline gets one when a
 * line follows that is not adjacent.
 */
export function* print(lines: Iterable<SessionLine>): Generator<Uint8Array> {
  let source: Uint8Array | undefined
  let start = 0
  let end = 0
  for (const line of lines) {
    const follows = line.terminated && line.source[line.end] === 0x0a
    if (line.source !== source || line.start !== end) {
      if (source !== undefined && end > start) {
        yield source.subarray(start, end)
        if (source[end - 1] !== 0x0a) yield NEWLINE
      }
      source = line.source
      start = line.start
    }
    end = follows ? line.end + 1 : line.end
    if (line.terminated && !follows) {
      yield source.subarray(start, end)
      yield NEWLINE
      source = undefined
    }
  }
  if (source !== undefined && end > start) yield source.subarray(start, end)
}

/** The whole session as one array of bytes. */
export const toBytes = (session: Session): Uint8Array => concat([...print(session.lines), new Uint8Array(0)])

/** The session with other lines; the reader's diagnostics are kept. */
export const withLines = (session: Session, lines: ReadonlyArray<SessionLine>): Session => {
  const ofTree = new Set(session.tree.diagnostics)
  return fromLines(
    lines,
    session.diagnostics.filter((diagnostic) => !ofTree.has(diagnostic))
  )
}

/** The session as Pi loads it: without entries that were recovered from damaged lines. */
export const asPiReads = (session: Session): Session => {
  const damaged = new Set<number>()
  let previous: SessionLine | undefined
  for (const line of session.lines) {
    if (line.line > 0 && line.line === previous?.line && !isByteOrderMark(previous)) damaged.add(line.line)
    previous = line
  }
  if (damaged.size === 0) return session
  return withLines(
    session,
    session.lines.filter((line) => !damaged.has(line.line))
  )
}

/** The reader makes the byte order mark a line of its own; the rest of that line is not damaged. */
export const isByteOrderMark = (line: SessionLine): boolean =>
  line.byteOffset === 0 && line.end - line.start === 3 && line.text === "\ufeff"
