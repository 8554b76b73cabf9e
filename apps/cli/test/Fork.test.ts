/** `pi-sessions fork`, also compared with the forks of both Pis. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionPath from "@pi-sessions/core/SessionPath"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { branches, oneSession, store } from "./support/storeFolder.ts"

const fork = (cwd: string, ...args: ReadonlyArray<string>) => call(["fork", ...args], cwd)

const idsOf = (file: string) =>
  Session.read(Files.readFileSync(file))
    .tree.getEntries()
    .map(({ id }) => id)

const JEST_WAY = ["0b85e246", "4f78d407", "bf4e470d", "f6041296", "bb384783", "3ea1953f", "5096bf2a", "76a86388"]

describe("pi-sessions fork", () => {
  it.live("writes the branch beside the session, named by Pi's rule, and prints its path", () =>
    Effect.gen(function* () {
      const { cwd, file, id } = yield* oneSession
      const before = Files.readFileSync(file)
      const run = yield* fork(cwd, "s.jsonl", "--at", "76a8")
      assert.strictEqual(run.status, 0, run.stderr)
      const path = run.stdout.trimEnd()
      const header = JSON.parse(Files.readFileSync(path, "utf8").split("\n")[0] ?? "")
      assert.strictEqual(path, Path.join(cwd, SessionPath.fileName(header.timestamp, header.id)))
      assert.deepInclude(header, { type: "session", version: 3, cwd: "/home/dev/work/app", parentSession: file })
      assert.notStrictEqual(header.id, id)
      assert.deepStrictEqual(idsOf(path).slice(0, -1), JEST_WAY)
      assert.strictEqual(Session.read(Files.readFileSync(path)).tree.label("76a86388"), "jest way")
      assert.strictEqual(run.stderr, `9 entries of ${file}\n`)
      assert.isTrue(Files.readFileSync(file).equals(before), "the session is as it was")
    })
  )

  it.live("forks at the leaf by default, and writes to --out or --session-dir", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      const run = yield* fork(cwd, "s.jsonl", "--out", "deep/new.jsonl", "--json")
      assert.strictEqual(run.status, 0, run.stderr)
      const printed = JSON.parse(run.stdout)
      assert.deepInclude(printed, { path: Path.join(cwd, "deep/new.jsonl"), at: "5e0c754d", entries: 8 })
      assert.strictEqual(idsOf(printed.path).at(-1), "5e0c754d")
      const other = yield* fork(cwd, "s.jsonl", "--session-dir", "flat", "--at", "bf4e")
      assert.strictEqual(Path.dirname(other.stdout.trimEnd()), Path.join(cwd, "flat"))
      assert.deepStrictEqual(idsOf(other.stdout.trimEnd()), JEST_WAY.slice(0, 3))
      const both = yield* fork(cwd, "s.jsonl", "--session-dir", "flat", "--out", "x")
      assert.strictEqual(both.status, 2)
    })
  )

  it.live("refuses empty paths, and warns of a missing directory", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      for (const flag of ["--out", "--session-dir", "--cwd"]) {
        const { status, stderr, stdout } = yield* fork(cwd, "s.jsonl", flag, "")
        assert.deepStrictEqual([status, stdout], [2, ""])
        assert.include(stderr, `error: ${flag} is empty`)
      }
      const run = yield* fork(cwd, "s.jsonl", "--cwd", "/no/such/dir", "--session-dir", ".")
      assert.strictEqual(run.status, 0)
      assert.include(run.stderr, "warning: --cwd: /no/such/dir is not a directory")
      const here = yield* fork(cwd, "s.jsonl", "--cwd", ".", "--session-dir", ".")
      assert.notInclude(here.stderr, "warning")
    })
  )

  it.live("writes a session for another directory where Pi keeps that directory's sessions", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      const other = Path.join(cwd, "other")
      Files.mkdirSync(Path.join(other, ".pi"), { recursive: true })
      Files.writeFileSync(Path.join(other, ".pi/settings.json"), JSON.stringify({ sessionDir: Path.join(cwd, "kept") }))
      const run = yield* fork(cwd, "s.jsonl", "--cwd", "other")
      assert.strictEqual(run.status, 0, run.stderr)
      const path = run.stdout.trimEnd()
      assert.strictEqual(Path.dirname(path), Path.join(cwd, "kept"))
      assert.strictEqual(JSON.parse(Files.readFileSync(path, "utf8").split("\n")[0] ?? "").cwd, other)
    })
  )

  it.live("never writes over a file", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      for (const there of ["something else\n", Files.readFileSync(branches, "utf8")]) {
        Files.writeFileSync(Path.join(cwd, "there.jsonl"), there)
        const run = yield* fork(cwd, "s.jsonl", "--out", "there.jsonl")
        assert.deepStrictEqual([run.status, run.stdout], [1, ""])
        assert.include(run.stderr, "there.jsonl exists and holds something else; it was left as it is")
        assert.strictEqual(Files.readFileSync(Path.join(cwd, "there.jsonl"), "utf8"), there)
      }
    })
  )

  it.live("exits 2 and lists the entries that an ambiguous start of an id matches", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      const run = yield* fork(cwd, "s.jsonl", "--at", "5")
      assert.deepStrictEqual([run.status, run.stdout], [2, ""])
      assert.include(run.stderr, "5 is the beginning of 3 entry ids; give more of it:\n  5096bf2a  toolResult")
      const none = yield* fork(cwd, "s.jsonl", "--at", "nobody")
      assert.deepStrictEqual([none.status, none.stdout], [2, ""])
      assert.include(none.stderr, "no entry nobody")
      assert.strictEqual((yield* fork(cwd, "gone.jsonl")).status, 2)
      assert.deepStrictEqual(Files.readdirSync(cwd), ["s.jsonl"])
    })
  )

  it.live("forks sessions in containers and in SQLite files too", () =>
    Effect.gen(function* () {
      const { cwd, container } = yield* oneSession
      assert.strictEqual((yield* store(cwd, "migrate", "s.jsonl")).status, 0)
      const fromContainer = yield* fork(cwd, container, "--at", "76a8", "--out", "c.jsonl")
      assert.strictEqual(fromContainer.status, 0, fromContainer.stderr)
      const sqlite = (yield* store(cwd, "rollback", container, "--to", "sqlite_v1")).stdout.trimEnd()
      const fromSqlite = yield* fork(cwd, sqlite, "--at", "76a8", "--out", "q.jsonl")
      assert.strictEqual(fromSqlite.status, 0, fromSqlite.stderr)
      const withoutHeader = (name: string): string =>
        Files.readFileSync(Path.join(cwd, name), "utf8").split("\n").slice(1, 9).join("\n")
      assert.strictEqual(withoutHeader("c.jsonl"), withoutHeader("q.jsonl"))
      const header = JSON.parse(Files.readFileSync(Path.join(cwd, "c.jsonl"), "utf8").split("\n")[0] ?? "")
      assert.strictEqual(header.parentSession, container)
    })
  )
})

/** Entries without the ids of labels that a fork adds; Pi's are random, ours derived. */
const plain = (entries: ReadonlyArray<PiModule.PiEntry>, known: ReadonlySet<string>) =>
  entries.map((entry) =>
    JSON.stringify(entry, (key, value: unknown) =>
      (key === "id" || key === "parentId") && typeof value === "string" && !known.has(value) ? "new" : value
    )
  )

/** Pi 0.78 loses the parent of an entry after a label, and keeps wrong parents of its own forks. */
const isWholeIn078 = (path: ReadonlyArray<SessionEntry>): boolean => {
  const end = path.findLastIndex(({ type }) => type !== "label")
  return path[0]?.parentId === null && path.slice(0, Math.max(0, end)).every(({ type }) => type !== "label")
}

describe.each(PiVersion.versions)("a fork, beside that of Pi %s", (version) => {
  it.live(
    "has the entries that createBranchedSession writes, and gives Pi the context of the branch",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const pi = yield* Effect.promise(() => PiModule.load(version))
        let compared = 0
        for (let seed = 1; seed <= 12; seed++) {
          const random = SeededRandom.make(seed)
          const dir = Path.join(cwd, `walk-${seed}`)
          const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, dir, cwd }))
          const { tree } = Session.read(Files.readFileSync(walk.file))
          const known = new Set(tree.getEntries().flatMap(({ id }) => id ?? []))
          for (let sample = 0; sample < 3; sample++) {
            const leafId = tree.getEntries()[random.int(tree.getEntries().length)]?.id ?? ""
            const path = tree.getBranch(leafId)
            if (version === "0.78" && !isWholeIn078(path)) continue
            const source = pi.SessionManager.open(walk.file, Path.join(cwd, "pi"))
            source.branch(leafId)
            const context = JSON.stringify(source.buildSessionContext())
            source.createBranchedSession(leafId)

            const run = yield* fork(cwd, walk.file, "--at", leafId, "--session-dir", `ours-${seed}-${sample}`)
            assert.strictEqual(run.status, 0, run.stderr)
            const ours = pi.SessionManager.open(run.stdout.trimEnd())
            assert.deepStrictEqual(plain(ours.getEntries(), known), plain(source.getEntries(), known), walk.file)
            assert.deepStrictEqual(JSON.stringify(ours.buildSessionContext()), context, walk.file)
            assert.strictEqual(ours.getHeader()?.cwd, source.getHeader()?.cwd)
            assert.strictEqual(ours.getHeader()?.parentSession, source.getHeader()?.parentSession)
            compared++
          }
        }
        process.stdout.write(`fork: ${compared} branches forked as by Pi ${version}\n`)
        assert.isAtLeast(compared, 10)
      }),
    600_000
  )

  it.live(
    "continues in Pi from the fork",
    () =>
      Effect.gen(function* () {
        const pi = yield* HermeticPi.make()
        const source = Path.join(pi.root, "source.jsonl")
        Files.writeFileSync(source, Files.readFileSync(branches, "utf8").replace("/home/dev/work/app", pi.cwd))
        const forked = yield* fork(pi.root, source, "--at", "76a86388", "--out", "fork.jsonl")
        assert.strictEqual(forked.status, 0, forked.stderr)
        const file = forked.stdout.trimEnd()
        const before = Files.readFileSync(file)
        const run = yield* pi.prompt(version, file, "and what now?")
        assert.strictEqual(run.exitCode, 0, run.stderr)
        const [request] = yield* pi.requests
        const said = (request?.messages ?? [])
          .filter(({ role }) => role !== "system" && role !== "developer")
          .map((message) => ScriptedModel.textOf(message).trim())
        assert.deepStrictEqual(said, [
          "Which test framework should we use?",
          "Either jest or vitest.",
          "Use jest.",
          "Installing jest.",
          "added 270 packages",
          "jest is in.",
          "and what now?"
        ])
        assert.isTrue(Files.readFileSync(file).subarray(0, before.length).equals(before))
      }),
    600_000
  )
})
