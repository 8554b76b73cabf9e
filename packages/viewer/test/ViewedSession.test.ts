/** Open sessions have the same entries and the same tree as sessions read whole. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import * as Session from "@pi-sessions/core/Session"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as TreeDrawing from "@pi-sessions/report/TreeDrawing"
import * as TreeRows from "@pi-sessions/report/TreeRows"
import { open } from "../src/internal/ViewedSession.ts"
import { fixtures } from "./support/viewing.ts"

const refOf = (path: string): CatalogSession => {
  const { mtimeMs, size } = Fs.statSync(path)
  return { path, sizeBytes: size, modifiedMs: mtimeMs, format: "jsonl", id: "", cwd: "", timestamp: "" }
}

const layer = Layer.provideMerge(SessionSource.layerPaths([]), NodeServices.layer)

const isSame = Effect.fnUntraced(function* (path: string) {
  const whole = SessionMigration.toCurrent(Session.read(Fs.readFileSync(path)))
  if (whole.header === undefined) return false
  const viewed = yield* open(refOf(path), undefined)
  const factsOf = ({ tree }: Pick<Session.Session, "tree">) => ({
    entries: tree.getEntries().map((entry) => ({
      id: entry.id,
      parentId: entry.parentId,
      type: entry.type,
      role: entry.role,
      line: entry.line,
      text: entry.text,
      payload: entry.decode()
    })),
    leaf: tree.leafId,
    name: tree.name(),
    labels: [...tree.labels()].map(([id, { label }]) => [id, label]),
    leaves: tree.leaves().map(({ id }) => id),
    drawing: [...TreeDrawing.draw(tree)].map(TreeDrawing.textOf)
  })
  assert.deepStrictEqual(factsOf(viewed), factsOf(whole), path)
  assert.deepStrictEqual(
    viewed.entries.map(({ index }) => index),
    viewed.entries.map((_, at) => at)
  )
  assert.strictEqual(viewed.damages, whole.diagnostics.length, path)
  return true
})

describe("an open session", () => {
  it.live("equals the session read whole, for every fixture", () =>
    Effect.gen(function* () {
      const files = Fs.readdirSync(fixtures, { recursive: true, encoding: "utf8" }).filter(
        (name) => name.endsWith(".jsonl") && !name.startsWith("threads")
      )
      let same = 0
      for (const name of files) if (yield* Effect.scoped(isSame(Path.join(fixtures, name)))) same++
      assert.isAbove(same, 60)
    }).pipe(Effect.provide(layer))
  )

  it.live("equals the session read whole, for a file read in many chunks", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporaryFolder, "large.jsonl")
      yield* Effect.promise(() => LargeSession.write(file, { entries: 2000, seed: 7, compactEvery: 300 }))
      assert.isTrue(yield* isSame(file))
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

describe("rows of a filtered tree", () => {
  it.live("are the admitted entries, each below its nearest admitted ancestor", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporaryFolder, "large.jsonl")
      yield* Effect.promise(() => LargeSession.write(file, { entries: 3000, seed: 5, compactEvery: 500 }))
      const { tree } = Session.read(Fs.readFileSync(file))
      const admits = ({ role }: { readonly role: string | undefined }): boolean =>
        role === "user" || role === "toolResult"
      const rows = [...TreeRows.rows(tree, { all: true, admits })]
      const taken = tree.getEntries().filter((entry) => entry.id === tree.leafId || admits(entry))
      assert.sameMembers(
        rows.flatMap(({ entries }) => entries.map(({ id }) => id)),
        taken.map(({ id }) => id)
      )
      // The parent of a row is the last row before it in its column, or in the column to the left.
      const last: Array<string | null> = []
      const isTaken = new Set(taken.map(({ id }) => id))
      for (const { column, entries, isRoot, leaves } of rows) {
        const [entry] = entries
        const before = tree.branchAt(entry?.id ?? null).slice(0, -1)
        const above = before.findLast(({ id }) => isTaken.has(id))?.id ?? null
        assert.strictEqual(isRoot, above === null)
        if (!isRoot) assert.strictEqual(last[leaves ? column - 1 : column], above)
        last[column] = entry?.id ?? null
        last.length = column + 1
      }
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
