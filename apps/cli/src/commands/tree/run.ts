/** Runs `tree`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as TreeDrawing from "@pi-sessions/report/TreeDrawing"
import { Invocation } from "../../Invocation.ts"
import * as Interruption from "../../Interruption.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as ChosenSession from "../../ChosenSession.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import { counted } from "../../print/Words.ts"
import { type Input } from "../tree.ts"

/** A line that names the session, and the drawing below it. */
function* drawing(
  { ref }: ChosenSession.ReadSession,
  session: Session.Session,
  options: TreeDrawing.TreeDrawingOptions,
  layout: ResultPrinter.Layout
): Generator<string> {
  const name = session.tree.name()
  const words = [ref.id, ...(name === undefined ? [] : [`"${name}"`]), ref.cwd].filter((word) => word !== "")
  const title = words.map((word) => TerminalText.line(word)).join("  ")
  yield ResultPrinter.paint(
    layout,
    "bold",
    layout.columns === undefined ? title : TerminalText.cut(title, layout.columns)
  )
  for (const line of TreeDrawing.draw(session.tree, options)) yield painted(line, layout)
}

/** Lines off the path to the leaf are dim. */
const painted = (line: TreeDrawing.DrawnLine, layout: ResultPrinter.Layout): string => {
  if (!layout.colours) return TreeDrawing.textOf(line)
  const { active, damaged, label, name, note, rail, text } = line
  const dim = active ? undefined : "dim"
  return TreeDrawing.textOf({
    ...line,
    rail: ResultPrinter.paint(layout, active ? "green" : "dim", rail),
    name: ResultPrinter.paint(layout, dim, name),
    label: ResultPrinter.paint(layout, "yellow", label),
    text: ResultPrinter.paint(layout, dim, text),
    note: ResultPrinter.paint(layout, damaged ? "red" : "bold", note)
  })
}

/** The lines of one JSON document, one entry per line. It is flat, because a tree may be as deep as it is long. */
function* document({ ref }: ChosenSession.ReadSession, { diagnostics, tree }: Session.Session): Generator<string> {
  const ids = (entries: ReadonlyArray<SessionEntry>) => entries.flatMap(({ id }) => id ?? [])
  const { cwd, format, id, path } = ref
  const entries = tree.getEntries()
  const branchPoints = entries.flatMap((entry) => {
    const children = entry.id !== null && tree.has(entry) ? ids(tree.children(entry.id)) : []
    return children.length > 1 ? [{ id: entry.id, children }] : []
  })
  const head = JSON.stringify({
    path,
    format,
    id,
    cwd,
    name: tree.name() ?? null,
    leafId: tree.leafId,
    roots: ids(tree.roots()),
    leaves: ids(tree.leaves()),
    branchPoints,
    diagnostics
  })
  yield `${TerminalText.json(head.slice(0, -1))},"entries":[`
  const active = new Set(tree.getBranch())
  for (const [at, entry] of entries.entries()) {
    const { id, line, parentId, role, timestamp, type } = entry
    const label = id === null ? undefined : tree.label(id)
    const fields = {
      id,
      parentId,
      type,
      role,
      timestamp,
      label,
      line,
      active: active.has(entry),
      inTree: tree.has(entry)
    }
    yield `${TerminalText.json(JSON.stringify(fields))}${at + 1 < entries.length ? "," : ""}`
  }
  yield "]}"
}

export const run = Effect.fnUntraced(function* (input: Input) {
  const read = yield* ChosenSession.read(input.session)
  const session = SessionMigration.toCurrent(read.session)
  yield* Interruption.point
  if (input.json) return yield* ResultPrinter.lines(document(read, session))
  const layout = yield* ResultPrinter.layout(Option.getOrUndefined(input.width))
  const options = {
    all: input.all,
    ascii: input.ascii,
    ...(layout.columns === undefined ? {} : { columns: layout.columns })
  }
  yield* ResultPrinter.lines(drawing(read, session, options, layout))
  const damage = session.diagnostics.length
  if (damage > 0) {
    const { note } = yield* Invocation
    const path = TerminalText.line(read.ref.path)
    yield* note(`warning: the file is damaged (${counted(damage, "finding")}); see pi-sessions doctor ${path}`)
  }
}, Effect.provide(StoredSessions.layer))
