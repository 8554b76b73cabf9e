/** Lists a home with sessions in every layout, and checks the reported reasons and the files that are never touched. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Result, Stream } from "effect"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiHome from "@pi-sessions/testing/sessions/PiHome"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as RecordingFileSystem from "@pi-sessions/testing/disk/RecordingFileSystem"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { memoryFolder, temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import * as DiskImage from "@pi-sessions/testing/disk/DiskImage"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import { type CatalogSession } from "../src/CatalogSession.ts"
import { IndexRefresh } from "../src/IndexRefresh.ts"
import { type CatalogOptions, SessionCatalog } from "../src/SessionCatalog.ts"
import * as SessionReference from "../src/SessionReference.ts"
import { fast, inEnvironment, over, portable } from "./support/catalogLayer.ts"

const list = (options?: CatalogOptions) => Effect.flatMap(SessionCatalog, (catalog) => catalog.list(options))

const brief = (sessions: ReadonlyArray<CatalogSession>) =>
  sessions.map(({ cwd, format, id, path, timestamp }) => ({ path, format, id, cwd, timestamp }))

const expected = (sessions: ReadonlyArray<PiHome.HomeSession>) =>
  sessions.map(({ cwd, format, id, path, timestamp }) => ({ path, format, id, cwd, timestamp }))

const home = Effect.map(memoryFolder, PiHome.make)

/** More than a batch of files (512) and a page of index rows (1,000). */
const MANY = Dose.of("PI_SESSIONS_LISTED", { test: 1100, campaign: 10_000 })

for (const [survey, layer] of [
  ["by Node's calls", fast],
  ["by Effect's FileSystem", portable]
] as const) {
  describe(`SessionCatalog ${survey}`, () => {
    it.live("finds every session of a home once, with the columns of its header", () =>
      Effect.gen(function* () {
        const pi = yield* home
        const found = yield* list({ cwd: pi.home }).pipe(inEnvironment(pi.usual.variables))
        assert.deepStrictEqual(brief(found.sessions), expected(pi.usual.sessions))
        assert.deepStrictEqual(
          found.roots.map(({ why }) => why),
          ["settings.json", "default"]
        )
        const forked = found.sessions.find(({ parentSession }) => parentSession !== undefined)
        assert.strictEqual(Path.basename(forked?.parentSession ?? ""), "long.jsonl")
        assert.strictEqual(found.sessions.find(({ path }) => path.endsWith("version 1.jsonl"))?.version, 1)
        for (const { modifiedMs, path, sizeBytes } of found.sessions) {
          const stats = Fs.statSync(path)
          assert.strictEqual(sizeBytes, stats.size, path)
          assert.isAtMost(Math.abs(modifiedMs - stats.mtimeMs), 1, path)
        }
      }).pipe(Effect.provide(layer), Effect.scoped)
    )

    it.live("reports each file that is not a session or cannot be read, with a reason", () =>
      Effect.gen(function* () {
        const pi = yield* home
        const { others } = yield* list({ cwd: pi.home }).pipe(inEnvironment(pi.usual.variables))
        const isKnown = (path: string): boolean => pi.others.includes(path)
        assert.deepStrictEqual(
          others.filter(({ path }) => isKnown(path)).map(({ path }) => path),
          pi.others
        )
        assert.deepStrictEqual(
          others.filter(({ path }) => !isKnown(path)),
          []
        )
        const reasons = Object.fromEntries(others.map(({ path, reason }) => [Path.basename(path), reason]))
        assert.strictEqual(reasons["pipe.jsonl"], "no regular file")
        assert.strictEqual(reasons["dangling.jsonl"], "no such file or directory")
        assert.strictEqual(reasons["empty.jsonl"], "an empty file")
        assert.strictEqual(reasons["late header.jsonl"], "the first line is no session header")
        assert.strictEqual(reasons["one long line.jsonl"], "no session header in its first MiB")
        assert.strictEqual(reasons["no database.sqlite"], "no SQLite database with a session")
        assert.strictEqual(reasons["foreign.sqlite"], "no SQLite database with a session")
        assert.isFalse(Fs.existsSync(Path.join(pi.sessionsRoot, "--none--", "foreign.sqlite-wal")))
      }).pipe(Effect.provide(layer), Effect.scoped)
    )

    it.live("obeys Pi's environment variables", () =>
      Effect.gen(function* () {
        const pi = yield* home
        for (const { sessions, variables } of [pi.otherAgent, pi.flat]) {
          const found = yield* list({ cwd: pi.home }).pipe(inEnvironment(variables))
          assert.deepStrictEqual(brief(found.sessions), expected(sessions))
        }
      }).pipe(Effect.provide(layer), Effect.scoped)
    )

    it.live("lists the container in place of its file while it is the active store, even if the file is gone", () =>
      Effect.gen(function* () {
        const pi = yield* home
        const { beside, instead } = pi.forContainers
        const migration = yield* StoreMigration
        const { location } = yield* migration.migrate(beside.path)
        yield* migration.migrate(instead.path)
        Fs.rmSync(instead.path)
        const at = ({ id, path }: PiHome.HomeSession) => Path.join(Path.dirname(path), `${id}.v2`)
        const found = yield* list({ cwd: pi.home }).pipe(inEnvironment(pi.usual.variables))
        const moved = new Map([beside, instead].map((session) => [session.path, at(session)]))
        const wanted = pi.usual.sessions.map((session) => {
          const container = moved.get(session.path)
          return container === undefined ? session : { ...session, path: container, format: "native_v2" }
        })
        assert.deepStrictEqual(
          brief(found.sessions),
          wanted
            .map(({ cwd, format, id, path, timestamp }) => ({ path, format, id, cwd, timestamp }))
            .toSorted((a, b) => (a.path < b.path ? -1 : 1))
        )
        const { sizeBytes = 0 } = found.sessions.find(({ path }) => path === at(beside)) ?? {}
        assert.isAbove(sizeBytes, 0)

        yield* migration.rollback(location)
        const back = yield* list({ cwd: pi.home }).pipe(inEnvironment(pi.usual.variables))
        assert.deepStrictEqual(
          brief(back.sessions).filter(({ id }) => id === beside.id),
          expected([beside])
        )
      }).pipe(Effect.provide(layer), Effect.scoped)
    )

    it.live("opens no chain of links to the credentials", () =>
      Effect.gen(function* () {
        const pi = yield* home
        const auth = Path.join(pi.agentDir, "auth.json")
        // It would be listed as a session if it were opened.
        const kept = Path.join(pi.home, "kept elsewhere")
        Fs.writeFileSync(kept, '{"type":"session","version":3,"id":"secret"}\n')
        Fs.rmSync(auth)
        Fs.symlinkSync(kept, auth)
        const links = ["link.jsonl", "link of link.jsonl", "link.sqlite"].map((name) =>
          Path.join(pi.sessionsRoot, name)
        )
        Fs.symlinkSync("../auth.json", links[0]!)
        Fs.symlinkSync("link.jsonl", links[1]!)
        Fs.symlinkSync(auth, links[2]!)
        const found = yield* list({ cwd: pi.home }).pipe(inEnvironment(pi.usual.variables))
        assert.deepStrictEqual(brief(found.sessions), expected(pi.usual.sessions))
        const refused = found.others.filter(({ reason }) => reason === "a link to Pi's credentials, which are not read")
        assert.sameMembers(
          refused.map(({ path }) => path),
          links
        )
        const named = yield* list({ sessions: [links[1]!] }).pipe(inEnvironment(pi.usual.variables))
        assert.deepStrictEqual([named.sessions.length, named.others.length], [0, 1])
        const itself = yield* list({ sessions: [auth] }).pipe(inEnvironment(pi.usual.variables))
        assert.strictEqual(itself.sessions.length, 1, "an explicit path is read")
      }).pipe(Effect.provide(layer), Effect.scoped)
    )

    it.live("lists explicit paths once, and fails if one does not exist", () =>
      Effect.gen(function* () {
        const pi = yield* home
        const session = pi.usual.sessions.find(({ path }) => path.endsWith("windows.jsonl"))
        const { cwd, path } = session!
        assert.strictEqual(cwd, "C:\\Users\\ann\\work: new")
        const named = yield* list({ sessions: [path, Path.dirname(path), path], cwd: pi.home })
        assert.strictEqual(named.sessions.filter((one) => one.path === path).length, 1)
        assert.isAbove(named.sessions.length, 1)
        const copy = Path.join(pi.home, "no extension")
        Fs.copyFileSync(path, copy)
        assert.deepStrictEqual(
          (yield* list({ sessions: [copy] })).sessions.map((one) => one.cwd),
          [cwd]
        )
        const gone = yield* Effect.flip(list({ sessions: [path, "gone.jsonl"], cwd: pi.home }))
        assert.include(gone.message, "no such file or directory")
      }).pipe(inEnvironment({ HOME: "/" }), Effect.provide(layer), Effect.scoped)
    )

    it.live("lists the file instead of links to it, and one link if the file is elsewhere", () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const line = '{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}\n'
        Fs.mkdirSync(Path.join(folder, "in", "z"), { recursive: true })
        Fs.mkdirSync(Path.join(folder, "out"))
        for (const name of ["in/z/real.jsonl", "out/far.jsonl"]) Fs.writeFileSync(Path.join(folder, name), line)
        Fs.symlinkSync(Path.join(folder, "in/z/real.jsonl"), Path.join(folder, "in/a.jsonl"))
        Fs.symlinkSync(Path.join(folder, "in/z"), Path.join(folder, "in/b"))
        Fs.symlinkSync(Path.join(folder, "out/far.jsonl"), Path.join(folder, "in/c.jsonl"))
        Fs.symlinkSync(Path.join(folder, "out/far.jsonl"), Path.join(folder, "in/d.jsonl"))
        Fs.linkSync(Path.join(folder, "in/z/real.jsonl"), Path.join(folder, "in/hard.jsonl"))
        const { sessions } = yield* list({ sessions: [Path.join(folder, "in")] })
        assert.deepStrictEqual(
          sessions.map(({ path }) => Path.relative(folder, path)),
          ["in/c.jsonl", "in/hard.jsonl", "in/z/real.jsonl"]
        )
      }).pipe(inEnvironment({ HOME: "/" }), Effect.provide(layer), Effect.scoped)
    )

    it.live(`lists ${MANY} sessions, with and without an index`, () =>
      Effect.gen(function* () {
        const folder = yield* memoryFolder
        const count = PiHome.makeMany(folder, MANY)
        const plain = yield* list({ sessions: [folder] })
        assert.strictEqual(plain.sessions.length, count)
        assert.deepStrictEqual(plain.others, [])
        assert.isTrue(plain.sessions.every(({ indexed }) => indexed === undefined))
        const refresh = yield* IndexRefresh
        const [done] = yield* refresh.refresh({ sessions: [folder] })
        assert.strictEqual(done?.written, count)
        const indexed = yield* list({ sessions: [folder] })
        assert.isTrue(indexed.sessions.every((session) => session.indexed?.messageCount === 1))
        assert.deepStrictEqual(brief(indexed.sessions), brief(plain.sessions))
      }).pipe(inEnvironment({ HOME: "/" }), Effect.provide(layer), Effect.scoped)
    )
  })
}

describe("SessionCatalog", () => {
  it.live("lists the other sessions if one file cannot be read", () =>
    Effect.gen(function* () {
      const line = new TextEncoder().encode('{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}\n')
      const image = DiskImage.fromFiles({
        "/s/a.jsonl": line,
        "/s/bad.jsonl": line,
        "/s/dir/b.jsonl": line,
        "/s/off/c.jsonl": line
      })
      const disk = FaultyFileSystem.make({
        image,
        fault: ({ call, path }) =>
          (call === "read" && path === "/s/bad.jsonl") || (call === "readdir" && path === "/s/off")
            ? FaultyFileSystem.error("EIO")
            : undefined
      })
      const found = yield* list({ sessions: ["/s"] }).pipe(
        Effect.provide(over(disk.layer)),
        inEnvironment({ HOME: "/" })
      )
      assert.deepStrictEqual(
        found.sessions.map(({ path }) => path),
        ["/s/a.jsonl", "/s/dir/b.jsonl"]
      )
      assert.deepStrictEqual(
        found.others.map(({ path }) => path),
        ["/s/bad.jsonl", "/s/off"]
      )
      for (const { reason } of found.others) assert.include(reason, "EIO")
      const named = yield* Effect.flip(SessionReference.resolve("/s/bad.jsonl")).pipe(
        Effect.provide(over(disk.layer)),
        inEnvironment({ HOME: "/" })
      )
      assert.strictEqual(named._tag, "SessionFileError", "it may be a session")
    })
  )

  for (const version of PiVersion.versions) {
    it.live(`counts messages and reads names as Pi ${version} does`, () =>
      Effect.gen(function* () {
        const pi = yield* home
        const oracle = yield* Effect.promise(() => PiModule.load(version))
        const listAll: unknown = Reflect.get(oracle.SessionManager, "listAll")
        assert.isFunction(listAll)
        const catalog = yield* SessionCatalog
        const { sessions } = yield* list({ cwd: pi.home }).pipe(inEnvironment(pi.usual.variables))
        const files = sessions.filter(({ format }) => format === "jsonl")
        const ours = new Map<string, readonly [number, string | undefined]>()
        yield* Stream.runForEach(catalog.summarize(files), (summary) =>
          Effect.sync(() => {
            const { messageCount, name, path } = Result.getOrThrow(summary)
            ours.set(path, [messageCount, name])
          })
        )
        for (const { messages, name, path } of pi.usual.sessions.filter(({ format }) => format === "jsonl")) {
          assert.deepStrictEqual(ours.get(path), [messages, name], path)
        }
        let compared = 0
        for (const directory of new Set(files.map(({ path }) => Path.dirname(path)))) {
          const listed: unknown = yield* Effect.promise(async () =>
            Reflect.apply(Object(listAll), oracle.SessionManager, [directory])
          )
          for (const theirs of Array.isArray(listed) ? listed : []) {
            const path = String(Reflect.get(theirs, "path"))
            if (!ours.has(path)) continue
            compared++
            assert.deepStrictEqual(
              ours.get(path),
              [Reflect.get(theirs, "messageCount"), Reflect.get(theirs, "name")],
              path
            )
          }
        }
        assert.isAtLeast(compared, 20)
      }).pipe(Effect.provide(fast), Effect.scoped)
    )
  }

  it.live("never opens or asks for auth.json", () =>
    Effect.gen(function* () {
      const pi = yield* home
      const { calls, fileSystem } = yield* Effect.provide(RecordingFileSystem.make, NodeServices.layer)
      const recorded = Layer.merge(NodeServices.layer, Layer.succeed(FileSystem.FileSystem, fileSystem))
      const asked = () => calls.filter(({ path }) => Path.basename(path) === "auth.json")
      yield* Effect.gen(function* () {
        const catalog = yield* SessionCatalog
        for (const { variables } of [pi.usual, pi.otherAgent, pi.flat]) {
          yield* catalog.list({ cwd: pi.home }).pipe(inEnvironment(variables))
        }
        const all = yield* catalog.list({ sessions: [pi.home] }).pipe(inEnvironment(pi.usual.variables))
        assert.isAbove(all.sessions.length, pi.usual.sessions.length)
        const refresh = yield* IndexRefresh
        yield* refresh.refresh({ sessions: [pi.home] }).pipe(inEnvironment(pi.usual.variables))
      }).pipe(Effect.provide(over(recorded)))
      assert.isAbove(calls.length, 100)
      assert.deepStrictEqual(asked(), [])
      yield* list({ sessions: [pi.credentials[0]!] }).pipe(
        inEnvironment(pi.usual.variables),
        Effect.provide(over(recorded))
      )
      assert.isNotEmpty(asked(), "an explicit path is read")
    }).pipe(Effect.scoped)
  )
})
