/** The plan's file and the ledger, which are private to their owner. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as ExactSecrets from "@pi-sessions/redaction/ExactSecrets"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { assistant, file, header, linked, text, user } from "@pi-sessions/samples/test/sessions"

const workbench = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const sessions = Path.join(root, "sessions")
  Fs.mkdirSync(sessions)
  const session = file(header({}), ...linked([user("Patrol."), assistant([text("All quiet.")])]))
  Fs.writeFileSync(Path.join(sessions, "s.jsonl"), session)
  const extract = yield* Effect.provide(
    Extract,
    Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])), Layer.provide(NodeServices.layer))
  )
  const options: ExtractOptions = {
    rigs: [],
    roles: [],
    format: "messages",
    redaction: { key: "k" },
    out: Path.join(root, "out")
  }
  return { root, sessions, extract, options }
})

const permissions = (path: string): number => Fs.statSync(path).mode & 0o777

describe("a plan's file", () => {
  it.live("replaces a plan, but no other file", () =>
    Effect.gen(function* () {
      const { extract, options, root, sessions } = yield* workbench
      const thesis = Path.join(root, "thesis.tex")
      const session = Path.join(sessions, "s.jsonl")
      const prose = Path.join(root, "kind.json")
      Fs.writeFileSync(thesis, "\\documentclass{book}\n")
      Fs.writeFileSync(prose, `{"of":"mine","kind":"pi-sessions/dataset-plan/2"}\n`)
      Fs.writeFileSync(Path.join(root, "empty"), "")
      for (const path of [thesis, session, prose, Path.join(root, "empty")]) {
        const before = Fs.readFileSync(path, "utf8")
        const error = yield* Effect.flip(extract.plan(options, path))
        assert.strictEqual(error._tag, "PlanMismatch")
        assert.include(error.message, path)
        assert.include(error.message, "name another file")
        assert.strictEqual(Fs.readFileSync(path, "utf8"), before)
      }
      const plan = Path.join(root, "new", "plan.json")
      yield* extract.plan(options, plan)
      const first = Fs.readFileSync(plan, "utf8")
      yield* extract.plan({ ...options, minTurns: 1 }, plan)
      assert.notStrictEqual(Fs.readFileSync(plan, "utf8"), first)
      // Of an earlier version.
      Fs.writeFileSync(plan, first.replace(/dataset-plan\/\d+/u, "dataset-plan/1"))
      yield* extract.plan(options, plan)
      assert.strictEqual(Fs.readFileSync(plan, "utf8"), first)
    })
  )

  it.live("lists what counts as settings when they differ", () =>
    Effect.gen(function* () {
      const { extract, options, root } = yield* workbench
      const plan = Path.join(root, "plan.json")
      yield* extract.plan(options, plan)
      const { secrets: exact } = ExactSecrets.fromEnvironment({ FOO_TOKEN: "correct-horse-battery" })
      const other = { ...options, redaction: { key: "k", exact } }
      const error = yield* Effect.flip(extract.shard(other, plan, { shard: 1, of: 1 }))
      assert.strictEqual(error._tag, "PlanMismatch")
      for (const told of ["same flags", "redaction key", "environment"]) assert.include(error.message, told)
    })
  )

  it.live("is readable by its owner alone, like the ledger", () =>
    Effect.gen(function* () {
      const { extract, options, root } = yield* workbench
      const plan = Path.join(root, "plan.json")
      yield* extract.plan(options, plan)
      assert.strictEqual(permissions(plan), 0o600)
      const ledger = Path.join(root, "state", "datasets", "ledger.jsonl")
      yield* extract.run({ ...options, ledger })
      assert.strictEqual(permissions(ledger), 0o600)
      assert.strictEqual(permissions(Path.dirname(ledger)), 0o700)
      assert.strictEqual(permissions(Path.join(root, "state")), 0o700)
    })
  )
})
