/** `pi-sessions store migrate`, `rollback` and `activate`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import * as Manifest from "@pi-sessions/store/wire/Manifest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { branches, fixtures, line, oneSession, store, writing } from "./support/storeFolder.ts"

describe("pi-sessions store migrate", () => {
  it.live("migrates sound sessions of a directory, names damaged ones, and reports earlier migrations", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const at = (name: string) => Path.join(cwd, "sessions", name)
      Files.mkdirSync(at("deep/er"), { recursive: true })
      Files.copyFileSync(branches, at("deep/before.jsonl"))
      assert.strictEqual((yield* store(cwd, "migrate", "sessions/deep/before.jsonl")).status, 0)
      Files.copyFileSync(Path.join(fixtures, "sessions/gt/crew-max.jsonl"), at("deep/er/sound.jsonl"))
      const damaged = Files.readFileSync(Path.join(fixtures, "damaged/version-2.jsonl"))
      Files.writeFileSync(at("damaged.jsonl"), damaged)
      Files.copyFileSync(Path.join(fixtures, "damaged/not-a-session.jsonl"), at("fox.jsonl"))
      Files.writeFileSync(at("notes.txt"), "notes\n")

      const run = yield* store(cwd, "migrate", "sessions")
      assert.strictEqual(run.status, 1, run.stderr)
      assert.match(run.stdout, /^outcome +entries +bytes +session\n/)
      assert.match(run.stdout, /\nalready +\d+ +[\d,]+ +.*deep\/.*\.v2\n/)
      assert.match(run.stdout, /\nmigrated +\d+ +[\d,]+ +.*deep\/er\/.*\.v2\n/)
      assert.match(run.stdout, /\nrefused .*damaged\.jsonl\n/)
      assert.notInclude(run.stdout, "fox")
      assert.match(
        run.stderr,
        /refused: .*damaged\.jsonl:\d+ \(byte \d+\): the session has format version 2; open it once in Pi/
      )
      assert.include(run.stderr, "error: not all was migrated: 1 migrated, 1 already, 1 refused, 1 not a session")
      assert.isTrue(Files.readFileSync(at("damaged.jsonl")).equals(damaged))
      assert.isTrue(Files.readFileSync(at("deep/before.jsonl")).equals(Files.readFileSync(branches)))

      const json = JSON.parse((yield* store(cwd, "migrate", "sessions", "--json")).stdout)
      assert.deepStrictEqual(json.summary, { already: 2, refused: 1, not_a_session: 1 })
      const refused = json.sessions.find((row: { outcome: string }) => row.outcome === "refused")
      assert.deepInclude(refused, { path: at("damaged.jsonl"), why: "MigrationRefused" })
      assert.deepStrictEqual(Object.keys(refused.findings[0]), ["line", "byteOffset", "message"])

      Files.rmSync(at("damaged.jsonl"))
      const clean = yield* store(cwd, "migrate", "sessions")
      assert.deepStrictEqual([clean.status, clean.stderr], [0, "2 already, 1 not a session\n"])
    })
  )

  it.live("shows progress only if stderr is a terminal", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      const bytes = Files.statSync(branches).size.toLocaleString("en-US")
      const { stderr } = yield* call(["store", "migrate", "."], cwd, true)
      assert.include(stderr, `1 of 1: s.jsonl, ${bytes} of ${bytes} bytes`)
      const { cwd: other } = yield* oneSession
      assert.strictEqual((yield* store(other, "migrate", ".")).stderr, "1 migrated\n")
    })
  )

  it.live("warns when the source of a migrated session has grown", () =>
    Effect.gen(function* () {
      const { cwd, file } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      Files.appendFileSync(file, line("late0001", null))
      for (const given of ["s.jsonl", "."]) {
        const run = yield* store(cwd, "migrate", given)
        assert.strictEqual(run.status, 0)
        const grew = line("late0001", null).length
        assert.include(run.stderr, `warning: ${file}: ${grew} bytes written to it after it was migrated`)
        const [row] = JSON.parse((yield* store(cwd, "migrate", given, "--json")).stdout).sessions
        assert.deepInclude(row, { outcome: "already", sourceGrewBy: grew, sourceChanged: "grown" })
      }
    })
  )

  it.live("warns when the source of a migrated session was rewritten, also with the same size, and at a rollback", () =>
    Effect.gen(function* () {
      const { cwd, file } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      Files.writeFileSync(file, Files.readFileSync(file, "latin1").replace("2026", "2027"), "latin1")
      const run = yield* store(cwd, "migrate", "s.jsonl")
      assert.include(run.stderr, `warning: ${file}: rewritten after it was migrated`)
      const [row] = JSON.parse((yield* store(cwd, "migrate", "s.jsonl", "--json")).stdout).sessions
      assert.deepInclude(row, { outcome: "already", sourceGrewBy: 0, sourceChanged: "rewritten" })
      const left = yield* store(cwd, "rollback", "s.jsonl")
      assert.include(left.stderr, "warning: the migrated file was rewritten after its migration")
      assert.notStrictEqual(left.stdout, `${file}\n`)
    })
  )

  it.live("repeats an interrupted migration", () =>
    Effect.gen(function* () {
      const { cwd, container } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      // The state after a kill before the cutover.
      Files.renameSync(container, `${container}.staging-1`)
      Files.rmSync(container.replace(/\.v2$/, ".active.json"))
      const run = yield* store(cwd, "migrate", ".")
      assert.deepStrictEqual([run.status, run.stderr], [0, "1 migrated\n"])
      assert.isFalse(Files.existsSync(`${container}.staging-1`))
      assert.strictEqual((yield* store(cwd, "verify", ".")).status, 0)
    })
  )

  it.live("repeats a migration that was interrupted right before its cutover, and counts its session once", () =>
    Effect.gen(function* () {
      const { cwd, container } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      // The state after a kill right before the marker was moved.
      const ledger = Path.join(container, "migrations/ledger.jsonl")
      const events = Files.readFileSync(ledger, "utf8").split("\n")
      Files.writeFileSync(ledger, `${events.slice(0, 3).join("\n")}\n`)
      const manifest = Path.join(container, "manifest.json")
      const decoded = Result.getOrThrow(Manifest.decode(Files.readFileSync(manifest)))
      Files.writeFileSync(manifest, Manifest.encode({ ...decoded, state: "MIGRATION_STAGING" }))
      Files.rmSync(container.replace(/\.v2$/, ".active.json"))
      const run = yield* store(cwd, "migrate", ".")
      assert.deepStrictEqual([run.status, run.stderr], [0, "1 migrated\n"])
      assert.deepStrictEqual(
        Files.readdirSync(cwd).filter((name) => /retired|staging/.test(name)),
        []
      )
      assert.strictEqual((yield* store(cwd, "verify", ".")).status, 0)
    })
  )

  it.live("keeps a container without its marker; activate makes it the active store again", () =>
    Effect.gen(function* () {
      const { container, cwd, file, location } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      yield* writing(location, (writer) =>
        writer.append(SessionEntry.make({ type: "custom", id: "added001", parentId: null, customType: "t" }))
      )
      const held = (yield* store(cwd, "export", container)).stdout
      const marker = container.replace(/\.v2$/, ".active.json")
      Files.rmSync(marker)
      for (const given of ["s.jsonl", ".", container]) {
        const run = yield* store(cwd, "migrate", given)
        assert.strictEqual(run.status, 1)
        assert.include(run.stderr, `store activate ${container}`)
        const { sessions } = JSON.parse((yield* store(cwd, "migrate", given, "--json")).stdout)
        assert.deepStrictEqual(
          sessions.map(({ outcome, path }: { outcome: string; path: string }) => [outcome, path]),
          [["failed", file]]
        )
      }
      assert.isFalse(Files.existsSync(`${container}.retired-1`))
      const active = yield* store(cwd, "activate", container)
      assert.deepStrictEqual([active.status, active.stdout], [0, `${container}\n`])
      assert.strictEqual((yield* store(cwd, "export", "s.jsonl")).stdout, held)
      assert.include((yield* store(cwd, "activate", container)).stderr, "nothing to do")
      assert.strictEqual((yield* store(cwd, "activate", "s.jsonl")).status, 2)

      // A container that was moved aside can still be read.
      const aside = `${container}.retired-1`
      Files.renameSync(container, aside)
      Files.rmSync(marker)
      assert.strictEqual((yield* store(cwd, "verify", aside)).status, 0)
      assert.strictEqual((yield* store(cwd, "export", aside)).stdout, held)
      assert.strictEqual((yield* store(cwd, "export", aside, "--salvage")).stdout, held)
      for (const verb of ["checkpoint", "stat", "rollback", "migrate", "activate"]) {
        const refused = yield* store(cwd, verb, aside)
        assert.strictEqual(refused.status, 2, verb)
        assert.include(refused.stderr, "verify and export take one that was moved aside")
      }
    })
  )

  it.live("undoes an unfinished cutover, and repeats it", () =>
    Effect.gen(function* () {
      const { cwd, container } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      // The state after a kill right after the marker was moved.
      const ledger = Path.join(container, "migrations/ledger.jsonl")
      const events = Files.readFileSync(ledger, "utf8").split("\n")
      Files.writeFileSync(ledger, `${events.slice(0, 3).join("\n")}\n`)
      const manifest = Path.join(container, "manifest.json")
      const decoded = Result.getOrThrow(Manifest.decode(Files.readFileSync(manifest)))
      Files.writeFileSync(manifest, Manifest.encode({ ...decoded, state: "MIGRATION_STAGING" }))
      const run = yield* store(cwd, "migrate", ".")
      assert.deepStrictEqual([run.status, run.stderr], [0, "1 migrated\n"])
      assert.strictEqual((yield* store(cwd, "verify", ".")).status, 0)
    })
  )

  it.live("never replaces the active store of a session by another file of it", () =>
    Effect.gen(function* () {
      const { cwd, file, id, location } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      const copy = Path.join(cwd, "copy.jsonl")
      Files.writeFileSync(copy, `${Files.readFileSync(file, "utf8")}${line("copy0001", null)}`)
      const conflict = yield* store(cwd, "migrate", ".")
      assert.strictEqual(conflict.status, 1)
      assert.include(
        conflict.stderr,
        `warning: ${copy}: the active store of this session is ${cwd}/${id}.v2, not this file`
      )
      assert.match(conflict.stdout, /\nalready /)
      Files.rmSync(copy)

      yield* writing(location, (writer) =>
        writer.append(SessionEntry.make({ type: "custom", id: "added001", parentId: null, customType: "t" }))
      )
      const back = (yield* store(cwd, "rollback", "s.jsonl")).stdout.trimEnd()
      assert.strictEqual(back, Path.join(cwd, "s.rollback-1.jsonl"))
      const stale = yield* store(cwd, "migrate", "s.jsonl")
      assert.strictEqual(stale.status, 1)
      assert.include(stale.stderr, `the active store of this session is ${back}`)
      const all = JSON.parse((yield* store(cwd, "migrate", ".", "--json")).stdout)
      assert.deepStrictEqual(all.summary, { migrated: 1, superseded: 1 })
      assert.include((yield* store(cwd, "export", `${id}.v2`)).stdout, "added001")
    })
  )

  it.live("refuses an id that points out of the directory", () =>
    Effect.gen(function* () {
      const { cwd, file, id } = yield* oneSession
      Files.mkdirSync(Path.join(cwd, "in"))
      Files.writeFileSync(Path.join(cwd, "in/evil.jsonl"), Files.readFileSync(file, "utf8").replace(id, "../evil"))
      const run = yield* store(cwd, "migrate", "in")
      assert.strictEqual(run.status, 1)
      assert.include(run.stderr, "cannot be part of a file name")
      assert.deepStrictEqual(Files.readdirSync(cwd), ["in", "s.jsonl"])
    })
  )

  it.live("writes the container beside the target of a link", () =>
    Effect.gen(function* () {
      const { cwd, container } = yield* oneSession
      Files.mkdirSync(Path.join(cwd, "links"))
      Files.symlinkSync("../s.jsonl", Path.join(cwd, "links/l.jsonl"))
      assert.strictEqual((yield* store(cwd, "migrate", "links")).status, 0)
      assert.isTrue(Files.existsSync(container))
      assert.deepStrictEqual(Files.readdirSync(Path.join(cwd, "links")), ["l.jsonl"])
    })
  )

  it.live("exits 2 and says what it found if nothing matches", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      Files.writeFileSync(Path.join(cwd, "fox.jsonl"), "the quick brown fox\n")
      const none = yield* store(cwd, "migrate", ".")
      assert.deepStrictEqual([none.status, none.stdout], [2, ""])
      assert.strictEqual(none.stderr, `error: no session found to migrate; searched ${cwd}; 1 file without one\n`)
      const gone = yield* store(cwd, "migrate", "gone")
      assert.strictEqual(gone.status, 2)
      assert.include(gone.stderr, `${cwd}/gone: no such file or directory`)
      assert.strictEqual((yield* store(cwd, "migrate")).status, 2)
      assert.strictEqual((yield* store(cwd, "migrate", ".", "--from", "x")).status, 2)
    })
  )
})

describe("pi-sessions store, between formats", () => {
  it.live("converts to SQLite and back, and keeps every byte", () =>
    Effect.gen(function* () {
      const { cwd, container, id } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      const back = yield* store(cwd, "rollback", container, "--to", "sqlite_v1", "--reason", "a test", "--json")
      const { path, format, outcome } = JSON.parse(back.stdout)
      assert.deepStrictEqual([format, outcome], ["sqlite_v1", "rolled_back"])
      const exported = yield* store(cwd, "export", `${id}.active.json`)
      assert.strictEqual(exported.stdout, Files.readFileSync(branches, "utf8"))

      // The session's active store is used, in any format.
      const again = JSON.parse((yield* store(cwd, "migrate", ".", "--json")).stdout)
      assert.deepStrictEqual(again.summary, { migrated: 1, superseded: 1 })
      assert.deepInclude(again.sessions[1], { path, outcome: "migrated" })
      assert.strictEqual((yield* store(cwd, "export", "s.jsonl")).stdout, Files.readFileSync(branches, "utf8"))
      const ledger = Files.readFileSync(Path.join(container, "migrations/ledger.jsonl"), "utf8")
      assert.include(ledger, '"reason":"a test"')
    })
  )

  it.live("takes SQLite files of a directory with --from, and any name that is given", () =>
    Effect.gen(function* () {
      const { cwd, container, id } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      const path = (yield* store(cwd, "rollback", container, "--to", "sqlite_v1")).stdout.trimEnd()
      const other = Path.join(yield* temporaryFolder, "other.sqlite")
      Files.copyFileSync(path, other)
      const at = Path.dirname(other)
      assert.strictEqual((yield* store(at, "migrate", ".")).status, 2)
      const json = JSON.parse((yield* store(at, "migrate", ".", "--from", "sqlite_v1", "--json")).stdout)
      assert.deepInclude(json.sessions[0], { outcome: "migrated", sessionId: id, path: other })
      const before = JSON.parse((yield* store(at, "migrate", "other.sqlite", "--json")).stdout)
      assert.deepInclude(before.sessions[0], { outcome: "already", sourceGrewBy: 0 })
    })
  )
})

describe("pi-sessions store rollback", () => {
  it.live("prints the path of the active file, also the second time", () =>
    Effect.gen(function* () {
      const { cwd, file } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      const first = yield* store(cwd, "rollback", "s.jsonl")
      assert.deepStrictEqual([first.status, first.stdout], [0, `${file}\n`])
      const second = yield* store(cwd, "rollback", ".//s.jsonl")
      assert.deepStrictEqual([second.status, second.stdout], [0, `${file}\n`])
      assert.include(second.stderr, "nothing to do")
      assert.strictEqual((yield* store(cwd, "rollback", "s.jsonl", "--to", "sqlite_v1")).status, 1)
    })
  )

  it.live("writes the session again if its file is gone", () =>
    Effect.gen(function* () {
      const { cwd, location } = yield* oneSession
      yield* store(cwd, "migrate", "s.jsonl")
      yield* writing(location, (writer) =>
        writer.append(SessionEntry.make({ type: "custom", id: "added001", parentId: null, customType: "t" }))
      )
      const first = (yield* store(cwd, "rollback", "s.jsonl")).stdout.trimEnd()
      const held = Files.readFileSync(first)
      Files.rmSync(first)
      const broken = yield* store(cwd, "verify", ".")
      assert.strictEqual(broken.status, 1)
      assert.include(broken.stdout, `INV-007: the active store, ${Path.basename(first)}, is not there`)
      const again = yield* store(cwd, "rollback", "s.jsonl")
      assert.strictEqual(again.status, 0, again.stderr)
      assert.isTrue(Files.readFileSync(again.stdout.trimEnd()).equals(held))
      assert.strictEqual((yield* store(cwd, "verify", ".")).status, 0)
      // Without any source, the rollback fails.
      Files.rmSync(again.stdout.trimEnd())
      Files.rmSync(Path.join(cwd, `${location.sessionId}.v2`), { recursive: true })
      for (const verb of ["rollback", "verify"]) {
        assert.strictEqual((yield* store(cwd, verb, `${location.sessionId}.active.json`)).status, 1)
      }
    })
  )

  it.live("exits 2 for a session without a store and for a directory", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      const none = yield* store(cwd, "rollback", "s.jsonl")
      assert.deepStrictEqual([none.status, none.stdout], [2, ""])
      assert.include(none.stderr, "this session has no store; make one with: pi-sessions store migrate")
      yield* store(cwd, "migrate", ".")
      const directory = yield* store(cwd, "rollback", ".")
      assert.strictEqual(directory.status, 2)
      assert.include(directory.stderr, "is a directory with 1 store; name one session")
    })
  )
})
