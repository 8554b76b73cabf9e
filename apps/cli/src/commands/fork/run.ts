/** Running `fork`. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as EntryId from "@pi-sessions/core/EntryId"
import * as SessionFork from "@pi-sessions/core/SessionFork"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { PiEnvironment } from "@pi-sessions/session-file/PiEnvironment"
import { SessionTarget } from "@pi-sessions/session-file/SessionTarget"
import { CommandFailed, UsageError, emptyFlag } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import { Invocation } from "../../Invocation.ts"
import * as ChosenSession from "../../ChosenSession.ts"
import * as StoredSessions from "../../StoredSessions.ts"

export interface Input {
  readonly session: Option.Option<string>
  readonly at: Option.Option<string>
  readonly out: Option.Option<string>
  readonly sessionDir: Option.Option<string>
  readonly cwd: Option.Option<string>
  readonly json: boolean
}

/** Where the new file goes: what was said, else where Pi keeps the sessions of another directory, else beside the old. */
const targetOf = Effect.fnUntraced(function* (input: Input, source: string, cwd: Option.Option<string>) {
  const invocation = yield* Invocation
  const path = yield* Path.Path
  if (Option.isSome(input.out)) return SessionTarget.layerFile(invocation.resolve(input.out.value))
  if (Option.isSome(input.sessionDir)) {
    return SessionTarget.layerDirectory(invocation.resolve(input.sessionDir.value))
  }
  if (Option.isNone(cwd)) return SessionTarget.layerDirectory(path.dirname(source))
  return Layer.unwrap(
    Effect.map(PiEnvironment, (environment) => SessionTarget.layerDirectory(SessionPath.sessionDir(environment).path))
  ).pipe(Layer.provide(PiEnvironment.layer(cwd.value)))
})

/** The directory that was given, as the kernel names it: Pi names its folders so. */
const realCwd = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const fs = yield* FileSystem.FileSystem
  const invocation = yield* Invocation
  if (Option.isNone(given)) return given
  const cwd = invocation.resolve(given.value)
  return Option.some(yield* fs.realPath(cwd).pipe(Effect.orElseSucceed(() => cwd)))
})

const isDirectory = Effect.fnUntraced(function* (at: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.stat(at).pipe(
    Effect.map(({ type }) => type === "Directory"),
    Effect.orElseSucceed(() => false)
  )
})

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  if (Option.isSome(input.out) && Option.isSome(input.sessionDir)) {
    return yield* new UsageError({ text: "--out and --session-dir both say where to write; give one of them" })
  }
  const { cwd: given, out, sessionDir } = input
  const empty = emptyFlag({ "--out": out, "--session-dir": sessionDir, "--cwd": given }, "give a path, or leave it out")
  if (empty !== undefined) return yield* empty
  const { ref, session } = yield* ChosenSession.read(input.session)
  const { tree } = SessionMigration.toCurrent(session)
  yield* Interruption.point
  const at = (yield* ChosenSession.entryId(tree, input.at)) ?? tree.leafId ?? undefined
  if (tree.getBranch(at).length === 0) return yield* new UsageError({ text: "the session has no entry to fork at" })
  const cwd = yield* realCwd(input.cwd)
  if (Option.isSome(cwd) && !(yield* isDirectory(cwd.value))) {
    yield* invocation.note(
      `warning: --cwd: ${cwd.value} is no directory; Pi will not open the session before it is one`
    )
  }
  const now = yield* Clock.currentTimeMillis
  const timestamp = new Date(now).toISOString()
  const header = {
    id: EntryId.deriveSessionId(ref.id, ref.path, at ?? "", timestamp),
    timestamp,
    cwd: Option.getOrElse(cwd, () => ref.cwd || invocation.cwd),
    parentSession: ref.path
  }
  const forked = SessionFork.branch(session, at, header)
  if (forked === undefined) return yield* Effect.die(new Error("an entry of the tree is not in it"))
  yield* Interruption.point
  const target = yield* targetOf(input, ref.path, cwd)
  const { path } = yield* Effect.flatMap(SessionTarget, (target) => target.write(forked)).pipe(
    Effect.provide(target, { local: true }),
    Effect.catchTag("TargetDiverged", (error) =>
      Effect.fail(
        new CommandFailed({
          text: `${error.path} is there and holds something else; it was left as it is. Choose another --out`
        })
      )
    ),
    Effect.mapError((error) => (error._tag === "CommandFailed" ? error : new CommandFailed({ text: error.message })))
  )
  const entries = forked.tree.getEntries().length
  yield* invocation.note(`${entries} ${entries === 1 ? "entry" : "entries"} of ${TerminalText.line(ref.path)}`)
  yield* invocation.result(
    input.json ? TerminalText.json(JSON.stringify({ path, ...header, at, entries }, null, 2)) : path
  )
}, Effect.provide(StoredSessions.layer))
