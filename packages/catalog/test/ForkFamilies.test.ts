/** Groups forks by the paths and ids in headers, also after files were moved, linked or migrated. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import { type CatalogSession } from "../src/CatalogSession.ts"
import { SessionCatalog } from "../src/SessionCatalog.ts"
import { forkFamilies } from "../src/internal/search/forkFamilies.ts"
import { fast, inEnvironment, portable } from "./support/catalogLayer.ts"

const session = (path: string, id: string, parentSession?: string): CatalogSession => ({
  path,
  sizeBytes: 1,
  modifiedMs: 0,
  format: "jsonl",
  id,
  cwd: "/w",
  timestamp: "",
  ...(parentSession === undefined ? {} : { parentSession })
})

const idsOf = (sessions: ReadonlyArray<CatalogSession>): ReadonlyArray<ReadonlyArray<string>> =>
  [...new Set(forkFamilies(sessions).values())].map((family) => family.map(({ id }) => id))

/** The root of each session's family, by a naive walk. */
const plainly = (sessions: ReadonlyArray<CatalogSession>): ReadonlyMap<CatalogSession, string> => {
  const byPath = new Map(sessions.map((one) => [one.path, one]))
  const rootOf = (one: CatalogSession): string => {
    const way: Array<CatalogSession> = []
    for (let at: CatalogSession | undefined = one; at !== undefined; at = byPath.get(at.parentSession ?? "")) {
      if (way.includes(at))
        return way
          .slice(way.indexOf(at))
          .map(({ path }) => path)
          .sort()[0]!
      way.push(at)
    }
    const first = way.at(-1)!
    return first.parentSession ?? first.path
  }
  return new Map(sessions.map((one) => [one, rootOf(one)]))
}

describe("forkFamilies", () => {
  it("groups sessions with the same root, parents first, also if headers form a cycle", () => {
    for (let seed = 1; seed <= 1000; seed++) {
      const random = SeededRandom.make(seed)
      const sessions = Array.from({ length: 1 + random.int(10) }, (_, at) =>
        session(`/s/${at}.jsonl`, `id-${at}`, random.chance(0.2) ? undefined : `/s/${random.int(12)}.jsonl`)
      )
      const roots = plainly(sessions)
      const families = forkFamilies(sessions)
      for (const one of sessions) {
        const expected = sessions.filter((other) => roots.get(other) === roots.get(one))
        const family = families.get(one) ?? [one]
        assert.sameMembers([...family], expected, `seed ${seed}`)
        const parent = sessions.find(({ path }) => path === one.parentSession)
        if (parent !== undefined && !isOnCircle(sessions, one)) {
          assert.isBelow(family.indexOf(parent), family.indexOf(one), `seed ${seed}`)
        }
      }
    }
  })

  it("orders a chain of 100,000 forks", () => {
    const count = 100_000
    const chain = Array.from({ length: count }, (_, at) =>
      session(`/s/${at}.jsonl`, `${at}`, at === 0 ? undefined : `/s/${at - 1}.jsonl`)
    )
    const family = forkFamilies(chain.toReversed()).get(chain[0]!)
    assert.strictEqual(family?.length, count)
    assert.deepStrictEqual([family?.[0]?.id, family?.[1]?.id, family?.at(-1)?.id], ["0", "1", `${count - 1}`])
  })

  it("finds an original by the id in the name of its file or container", () => {
    const forks = [
      session("/s/f.jsonl", "f", "/moved/2026-02-01T10-00-00-000Z_my_own_id.jsonl"),
      session("/s/g.jsonl", "g", "/moved/gone/other.v2")
    ]
    const originals = [session("/s/a.jsonl", "my_own_id"), session("/s/b.jsonl", "other")]
    assert.deepStrictEqual(idsOf([...forks, ...originals]), [
      ["my_own_id", "f"],
      ["other", "g"]
    ])
  })
})

const isOnCircle = (sessions: ReadonlyArray<CatalogSession>, one: CatalogSession): boolean => {
  let at: CatalogSession | undefined = one
  for (let step = 0; step < sessions.length; step++) {
    at = sessions.find(({ path }) => path === at?.parentSession)
    if (at === one) return true
  }
  return false
}

const header = (id: string, more: object = {}): string =>
  `${JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-02-01T10:00:00.000Z", cwd: "/w", ...more })}\n`
const entry = `${JSON.stringify({ type: "message", id: "a", parentId: null, timestamp: "2026-02-01T10:00:00.000Z", message: { role: "user", content: "fox" } })}\n`

const families = (root: string) =>
  Effect.gen(function* () {
    const catalog = yield* SessionCatalog
    const { sessions } = yield* catalog.list({ sessions: [root], useIndex: false })
    return idsOf(sessions)
  }).pipe(inEnvironment({ HOME: "/" }))

for (const [survey, layer] of [
  ["by Node's calls", fast],
  ["by Effect's FileSystem", portable]
] as const) {
  describe(`parents listed ${survey}`, () => {
    it.live("are found after they became containers, also if their files are gone", () =>
      Effect.gen(function* () {
        const root = Path.join(yield* temporaryFolder, "sessions")
        Fs.mkdirSync(root)
        const original = Path.join(root, "orig.jsonl")
        Fs.writeFileSync(original, header("o") + entry)
        Fs.writeFileSync(Path.join(root, "fork.jsonl"), header("f", { parentSession: original }) + entry)
        yield* Effect.flatMap(StoreMigration, (migration) => migration.migrate(original))
        assert.deepStrictEqual(yield* families(root), [["o", "f"]])
        Fs.rmSync(original)
        assert.deepStrictEqual(yield* families(root), [["o", "f"]])
      }).pipe(Effect.provide(layer), Effect.scoped)
    )

    it.live("are found through links to directories and files", () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const root = Path.join(folder, "sessions")
        const link = Path.join(folder, "link")
        Fs.mkdirSync(root)
        Fs.symlinkSync(root, link)
        const original = Path.join(root, "orig.jsonl")
        const linked = Path.join(folder, "linked.jsonl")
        Fs.writeFileSync(original, header("o") + entry)
        Fs.symlinkSync(original, linked)
        Fs.writeFileSync(
          Path.join(root, "f.jsonl"),
          header("f", { parentSession: Path.join(link, "orig.jsonl") }) + entry
        )
        Fs.writeFileSync(Path.join(root, "g.jsonl"), header("g", { parentSession: linked }) + entry)
        assert.deepStrictEqual(yield* families(root), [["o", "f", "g"]])
        assert.deepStrictEqual(yield* families(link), [["o", "f", "g"]])
      }).pipe(Effect.provide(layer), Effect.scoped)
    )

    it.live("are listed once if they are databases or containers with links to them", () =>
      Effect.gen(function* () {
        const root = Path.join(yield* temporaryFolder, "sessions")
        Fs.mkdirSync(root)
        const file = Path.join(root, "one.sqlite")
        const database = new DatabaseSync(file)
        database.exec("CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT")
        database.prepare("INSERT INTO session_line VALUES (0, ?)").run(Buffer.from(header("d")))
        database.close()
        Fs.symlinkSync(file, Path.join(root, "a link.sqlite"))
        const original = Path.join(root, "orig.jsonl")
        Fs.writeFileSync(original, header("o") + entry)
        const { location } = yield* Effect.flatMap(StoreMigration, (migration) => migration.migrate(original))
        Fs.symlinkSync(Path.join(root, "o.v2"), Path.join(root, "a link.v2"))
        const catalog = yield* SessionCatalog
        const { sessions } = yield* catalog.list({ sessions: [root] })
        assert.deepStrictEqual(
          sessions.map(({ path }) => path),
          [Path.join(root, "o.v2"), file],
          String(location)
        )
      }).pipe(inEnvironment({ HOME: "/" }), Effect.provide(layer), Effect.scoped)
    )
  })
}
