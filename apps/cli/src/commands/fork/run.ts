/** Runs `fork`. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as EntryId from "@pi-sessions/core/EntryId"
import type * as Session from "@pi-sessions/core/Session"
import * as SessionFork from "@pi-sessions/core/SessionFork"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import * as ChosenSession from "../../ChosenSession.ts"
import { CommandFailed, UsageError } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import { Invocation } from "../../Invocation.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import * as NamedTarget from "../../flags/NamedTarget.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import { type Input } from "../fork.ts"

const check = (input: Input) => {
  const { cwd, out, sessionDir } = input
  return FlagCheck.all(
    NamedTarget.check(input),
    FlagCheck.empty({ "--out": out, "--session-dir": sessionDir, "--cwd": cwd }, "give a path, or leave it out")
  )
}

/** The directory of `--cwd`; undefined without it. Warns if it is missing. */
const newCwd = Effect.fnUntraced(function* (given: Option.Option<string>) {
  if (Option.isNone(given)) return undefined
  const fs = yield* FileSystem.FileSystem
  const { note } = yield* Invocation
  const cwd = yield* NamedTarget.realCwd(given.value)
  const info = yield* Effect.option(fs.stat(cwd))
  if (Option.isNone(info) || info.value.type !== "Directory") {
    yield* note(`warning: --cwd: ${cwd} is not a directory; Pi opens the session only when it is one`)
  }
  return cwd
})

/** Writes the fork; gives its path. The default target is beside the session, or Pi's place for another directory. */
const write = Effect.fnUntraced(function* (
  input: Input,
  forked: Session.Session,
  source: string,
  cwd: string | undefined
) {
  const path = yield* Path.Path
  const other = cwd === undefined ? SessionTarget.layerDirectory(path.dirname(source)) : NamedTarget.piDirectory(cwd)
  const target = (yield* NamedTarget.given(input)) ?? other
  return yield* Effect.flatMap(SessionTarget, (target) => target.write(forked)).pipe(
    Effect.provide(target, { local: true }),
    Effect.catchTag("TargetDiverged", (error) => {
      const text = `${error.path} exists and holds something else; it was left as it is. Choose another --out`
      return Effect.fail(new CommandFailed({ text }))
    })
  )
})

export const run = Effect.fnUntraced(function* (input: Input) {
  yield* check(input)
  const invocation = yield* Invocation
  const { ref, session } = yield* ChosenSession.read(input.session)
  const { tree } = SessionMigration.toCurrent(session)
  yield* Interruption.point
  const at = (yield* ChosenSession.entryId(tree, input.at)) ?? tree.leafId ?? undefined
  if (tree.getBranch(at).length === 0) return yield* new UsageError({ text: "the session has no entry to fork at" })
  const cwd = yield* newCwd(input.cwd)
  const timestamp = new Date(yield* Clock.currentTimeMillis).toISOString()
  const header = {
    id: EntryId.deriveSessionId(ref.id, ref.path, at ?? "", timestamp),
    timestamp,
    cwd: cwd ?? (ref.cwd || invocation.cwd),
    parentSession: ref.path
  }
  const forked = SessionFork.branch(session, at, header)
  if (forked === undefined) return yield* Effect.die(new Error("an entry of the tree is not in it"))
  yield* Interruption.point
  const { path } = yield* write(input, forked, ref.path, cwd)
  const entries = forked.tree.getEntries().length
  yield* invocation.note(`${entries} ${entries === 1 ? "entry" : "entries"} of ${TerminalText.line(ref.path)}`)
  yield* invocation.result(input.json ? ResultPrinter.json({ path, ...header, at, entries }, 2) : path)
}, Effect.provide(StoredSessions.layer))
