/** Sessions in a folder of their own, and calls of `pi-sessions store` on them. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as StoreServices from "../../src/commands/store/StoreServices.ts"
import { call } from "./callCli.ts"

export const fixtures = Path.resolve(import.meta.dirname, "../../../../fixtures")
export const branches = Path.join(fixtures, "sessions/project/branches.jsonl")

export const store = (cwd: string, ...args: ReadonlyArray<string>) => call(["store", ...args], cwd)

export const idOf = (file: string): string => JSON.parse(Files.readFileSync(file, "utf8").split("\n")[0]!).id

/** A folder with one session, its location and its container. */
export const oneSession = Effect.gen(function* () {
  const cwd = yield* temporaryFolder
  const file = Path.join(cwd, "s.jsonl")
  Files.copyFileSync(branches, file)
  const id = idOf(file)
  return { cwd, file, id, location: { directory: cwd, sessionId: id }, container: Path.join(cwd, `${id}.v2`) }
})

export const line = (id: string, parentId: string | null): string =>
  `${JSON.stringify({ type: "custom", id, parentId, timestamp: "2026-01-01T00:00:00.000Z", customType: "t" })}\n`

/** Opens a store for writing in this process, and does `work` with it. */
export const writing = <A, E>(
  location: { readonly directory: string; readonly sessionId: string },
  work: (writer: Effect.Success<ReturnType<SessionStore["Service"]["writer"]>>) => Effect.Effect<A, E>
) =>
  Effect.scoped(Effect.flatMap(SessionStore, (sessions) => Effect.flatMap(sessions.writer(location), work))).pipe(
    Effect.provide(StoreServices.layer),
    Effect.provide(NodeServices.layer)
  )

export const flipByte = (file: string, at: number): void => {
  const bytes = Files.readFileSync(file)
  bytes[at] = bytes[at]! ^ 1
  Files.writeFileSync(file, bytes)
}
