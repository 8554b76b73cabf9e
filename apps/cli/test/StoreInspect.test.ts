/** `pi-sessions store verify`, `checkpoint`, `stat` and `export`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { branches, fixtures, flipByte, oneSession, store, writing } from "./support/storeFolder.ts"

const added = SessionEntry.make({ type: "custom", id: "added001", parentId: null, customType: "t" })

describe("pi-sessions store verify", () => {
  it.live("exits 0 if all is sound, and 1 with invariant, file and byte of each finding", () =>
    Effect.gen(function* () {
      const { container, cwd } = yield* oneSession
      Files.mkdirSync(Path.join(cwd, "more"))
      Files.copyFileSync(Path.join(fixtures, "sessions/gt/crew-max.jsonl"), Path.join(cwd, "more/m.jsonl"))
      yield* store(cwd, "migrate", ".")
      const sound = yield* store(cwd, "verify", ".")
      assert.deepStrictEqual([sound.status, sound.stdout, sound.stderr], [0, "", "2 stores verified, no findings\n"])

      const segment = Path.join(container, "segments/0000000000000001.seg")
      flipByte(segment, 200)
      const broken = yield* store(cwd, "verify", ".")
      assert.strictEqual(broken.status, 1)
      assert.match(broken.stdout, new RegExp(`^${segment}, byte 0: INV-005: `))
      assert.match(broken.stderr, /^error: \d+ findings? in 1 of 2 stores\n$/)
      const { stores } = JSON.parse((yield* store(cwd, "verify", "s.jsonl", "more", "--json")).stdout)
      assert.deepStrictEqual(
        stores.map(({ sound }: { sound: boolean }) => sound),
        [true, false]
      )
      assert.deepInclude(stores[1].findings[0], { invariant: "INV-005", path: segment, byteOffset: 0 })
    })
  )

  it.live("finds stores without a manifest, with a wrong marker, and without files", () =>
    Effect.gen(function* () {
      const { container, cwd, id } = yield* oneSession
      yield* store(cwd, "migrate", ".")
      const manifest = Path.join(container, "manifest.json")
      const marker = Path.join(cwd, `${id}.active.json`)
      const kept = Files.readFileSync(manifest)
      Files.rmSync(manifest)
      const without = yield* store(cwd, "verify", ".")
      assert.strictEqual(without.status, 1)
      assert.include(without.stdout, manifest)
      // The container's files are still not sessions.
      const { sessions } = JSON.parse((yield* store(cwd, "migrate", ".", "--json")).stdout)
      assert.strictEqual(sessions.length, 1)
      Files.writeFileSync(manifest, kept)

      flipByte(marker, 20)
      const unreadable = yield* store(cwd, "verify", ".")
      assert.deepStrictEqual(
        [unreadable.status, unreadable.stdout.startsWith(`${marker}, byte 0: INV-007: `)],
        [1, true]
      )
      flipByte(marker, 20)

      Files.renameSync(container, Path.join(cwd, "gone"))
      const lost = yield* store(cwd, "verify", ".")
      assert.strictEqual(lost.status, 1)
      assert.include(lost.stdout, `${marker}, byte 0: INV-007: the active store, ${id}.v2, is not there`)
    })
  )

  it.live("exits 2 and says what it found if there is no store", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      for (const verb of ["verify", "checkpoint", "stat"]) {
        const none = yield* store(cwd, verb, ".")
        assert.deepStrictEqual([none.status, none.stdout], [2, ""])
        assert.strictEqual(none.stderr, `error: no session store found; searched ${cwd}; 1 .jsonl file without one\n`)
        const named = yield* store(cwd, verb, "s.jsonl")
        assert.strictEqual(named.status, 2)
        assert.include(named.stderr, "this session has no store; make one with: pi-sessions store migrate")
      }
    })
  )

  it.live("fails for missing paths, and verifies the others", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      yield* store(cwd, "migrate", ".")
      const run = yield* store(cwd, "verify", ".", "gone")
      assert.strictEqual(run.status, 1)
      assert.strictEqual(run.stderr, `warning: ${cwd}/gone: no such file or directory\nerror: only 1 of 2 verified\n`)
    })
  )
})

describe("pi-sessions store checkpoint", () => {
  it.live("checkpoints appended entries once, and prints repairs", () =>
    Effect.gen(function* () {
      const { container, cwd, location } = yield* oneSession
      yield* store(cwd, "migrate", ".")
      yield* writing(location, (writer) => writer.append(added))
      // The state after a kill in the middle of an append.
      Files.appendFileSync(Path.join(container, "segments/0000000000000002.seg"), '{"schema":"pi.sess')
      const first = yield* store(cwd, "checkpoint", "s.jsonl")
      assert.strictEqual(first.status, 0, first.stderr)
      assert.match(first.stdout, /^checkpoint +number +entries +state +store\nwritten +2 +\d+ +CHECKPOINTED +/)
      assert.match(first.stderr, new RegExp(`repaired: ${container}: segment 2: bytes \\d+ to \\d+ cut off`))
      const second = yield* store(cwd, "checkpoint", ".", "--json")
      assert.strictEqual(second.stderr, "")
      assert.deepInclude(JSON.parse(second.stdout).stores[0], { outcome: "already", checkpoint: 2, repairs: [] })
      assert.strictEqual((yield* store(cwd, "verify", ".")).status, 0)
    })
  )

  it.live("fails with the holder's name while another writer has the store, as migrate and rollback do", () =>
    Effect.gen(function* () {
      const { cwd, location } = yield* oneSession
      yield* store(cwd, "migrate", ".")
      yield* writing(location, () =>
        Effect.gen(function* () {
          for (const verb of ["checkpoint", "rollback"]) {
            const locked = yield* store(cwd, verb, "s.jsonl")
            assert.deepStrictEqual([locked.status, locked.stdout], [1, ""])
            assert.include(locked.stderr, `the store is being written by process ${process.pid}`)
          }
          const json = JSON.parse((yield* store(cwd, "checkpoint", "s.jsonl", "--json")).stdout)
          assert.deepInclude(json.failed[0], { why: "StoreLocked" })
          // Reading needs no lock, and neither does the report that a session is migrated.
          for (const verb of ["migrate", "verify", "stat", "export"]) {
            assert.strictEqual((yield* store(cwd, verb, "s.jsonl")).status, 0, verb)
          }
        })
      )
    })
  )

  it.live("skips rolled-back stores in a directory, and refuses one that is named", () =>
    Effect.gen(function* () {
      const { container, cwd } = yield* oneSession
      yield* store(cwd, "migrate", ".")
      yield* store(cwd, "rollback", "s.jsonl")
      const all = yield* store(cwd, "checkpoint", ".")
      assert.strictEqual(all.status, 0)
      assert.match(all.stdout, /\nnot active /)
      const named = yield* store(cwd, "checkpoint", container)
      assert.strictEqual(named.status, 1)
      assert.include(named.stderr, "the active store of this session is")
    })
  )
})

describe("pi-sessions store stat", () => {
  it.live("prints one store as lines, several as a table, and all facts as JSON", () =>
    Effect.gen(function* () {
      const { container, cwd, id, location } = yield* oneSession
      const size = Files.statSync(branches).size
      yield* store(cwd, "migrate", ".")
      yield* writing(location, (writer) => writer.append(added))
      const one = (yield* store(cwd, "stat", `${id}.active.json`)).stdout
      assert.match(one, /\nstate +DIRTY\n/)
      assert.include(one, `${(size + added.text.length + 1).toLocaleString("en-US")} bytes`)
      assert.match(one, /\ncheckpoint +1, of .*, entries after it: 1\n/)
      assert.match(one, /\nledger +4 events, last: completed ok at /)

      yield* store(cwd, "checkpoint", ".")
      Files.mkdirSync(Path.join(cwd, "more"))
      Files.copyFileSync(Path.join(fixtures, "sessions/gt/crew-max.jsonl"), Path.join(cwd, "more/m.jsonl"))
      yield* store(cwd, "migrate", "more")
      yield* store(cwd, "rollback", "more/m.jsonl")
      const many = yield* store(cwd, "stat", ".")
      assert.match(many.stdout, /^state +active +entries +segments +session bytes +on disk /)
      assert.match(many.stdout, /\nCHECKPOINTED +native_v2 /)
      assert.match(many.stdout, /\nROLLED_BACK +jsonl_v3 /)

      const { stores } = JSON.parse((yield* store(cwd, "stat", container, "--json")).stdout)
      assert.deepInclude(stores[0], {
        sessionId: id,
        state: "CHECKPOINTED",
        active: { format: "native_v2", path: container },
        segments: 2,
        trailing: null
      })
      assert.deepInclude(stores[0].checkpoint, { number: 2, behind: 0 })
      const files = Files.readdirSync(container, { recursive: true, encoding: "utf8" })
      const onDisk = files.map((name) => Files.statSync(Path.join(container, name))).filter((info) => info.isFile())
      assert.strictEqual(
        stores[0].bytes.disk,
        onDisk.reduce((sum, info) => sum + info.size, 0)
      )
    })
  )
})

describe("pi-sessions store export", () => {
  it.live("writes the session's bytes to stdout or a new file, and never overwrites a file", () =>
    Effect.gen(function* () {
      const { container, cwd } = yield* oneSession
      const original = Files.readFileSync(branches, "utf8")
      yield* store(cwd, "migrate", ".")
      Files.rmSync(Path.join(cwd, "s.jsonl"))
      assert.deepStrictEqual(yield* store(cwd, "export", container), { status: 0, stdout: original, stderr: "" })
      const out = Path.join(cwd, "to/out.jsonl")
      const first = yield* store(cwd, "export", container, "--out", "to/out.jsonl")
      assert.deepStrictEqual([first.status, first.stdout], [0, `${out}\n`])
      assert.strictEqual(Files.readFileSync(out, "utf8"), original)

      Files.writeFileSync(out, "mine\n")
      const refused = yield* store(cwd, "export", container, "--out", out)
      assert.deepStrictEqual([refused.status, refused.stdout], [1, ""])
      assert.include(refused.stderr, `${out} exists; nothing was written`)
      assert.strictEqual(Files.readFileSync(out, "utf8"), "mine\n")
      for (const n of [1, 2]) {
        const forced = yield* store(cwd, "export", container, "--out", out, "--force", "--json")
        const expected = { path: out, from: container, bytes: original.length, movedAside: `${out}.aside-${n}` }
        assert.deepStrictEqual(JSON.parse(forced.stdout), { ...expected, bytes: Buffer.byteLength(original) })
      }
      assert.strictEqual(Files.readFileSync(`${out}.aside-1`, "utf8"), "mine\n")
      assert.deepStrictEqual(Files.readdirSync(Path.join(cwd, "to")).toSorted(), [
        "out.jsonl",
        "out.jsonl.aside-1",
        "out.jsonl.aside-2"
      ])
      assert.strictEqual((yield* store(cwd, "export", container, "--out", cwd, "--force")).status, 1)
      Files.symlinkSync("nowhere", Path.join(cwd, "link"))
      const linked = yield* store(cwd, "export", container, "--out", "link")
      assert.deepStrictEqual([linked.status, linked.stdout], [1, ""])
      assert.strictEqual(Files.readlinkSync(Path.join(cwd, "link")), "nowhere")
    })
  )

  it.live("leaves no file behind when the store is damaged", () =>
    Effect.gen(function* () {
      const { container, cwd } = yield* oneSession
      yield* store(cwd, "migrate", ".")
      flipByte(Path.join(container, "segments/0000000000000001.seg"), 1500)
      const run = yield* store(cwd, "export", container, "--out", "out.jsonl")
      assert.deepStrictEqual([run.status, run.stdout], [1, ""])
      assert.include(run.stderr, "pi-sessions store verify")
      // The file is checked before the work.
      const early = yield* store(cwd, "export", container, "--out", "s.jsonl")
      assert.include(early.stderr, "exists; nothing was written")
      assert.deepStrictEqual(
        Files.readdirSync(cwd).filter((name) => name.includes("out")),
        []
      )
    })
  )

  it.live("exports a session without a store, and refuses a directory, and --json to stdout", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      assert.strictEqual((yield* store(cwd, "export", "s.jsonl")).stdout, Files.readFileSync(branches, "utf8"))
      for (const [args, why] of [
        [["."], "is a directory with 1 session; name one session"],
        [["gone"], "no such file or directory"],
        [["s.jsonl", "--json"], "--json needs --out FILE"]
      ] as const) {
        const run = yield* store(cwd, "export", ...args)
        assert.deepStrictEqual([run.status, run.stdout], [2, ""])
        assert.include(run.stderr, why)
      }
      Files.writeFileSync(Path.join(cwd, "notes.txt"), "notes\n")
      assert.strictEqual((yield* store(cwd, "export", "notes.txt")).status, 2)
    })
  )
})

describe("pi-sessions extract, of stores", () => {
  it.live("finds a migrated session once, and makes the same samples as from its file", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const sessions = Path.join(cwd, "sessions")
      Files.cpSync(Path.join(fixtures, "sessions/gt"), sessions, { recursive: true })
      const extract = (out: string, ...from: ReadonlyArray<string>) =>
        call(["extract", "--role", "deacon", ...from.flatMap((at) => ["--sessions", at]), "--out", out, "--json"], cwd)
      const before = JSON.parse((yield* extract("before", "sessions")).stdout)
      yield* store(cwd, "migrate", "sessions")
      const after = JSON.parse((yield* extract("after", "sessions")).stdout)
      assert.deepStrictEqual(after.sessions, before.sessions)
      assert.deepStrictEqual(after.total, before.total)
      const kept = after.rows.find((row: { outcome: string }) => row.outcome === "kept")
      assert.match(kept.path, /\.v2$/)
      const train = (out: string) => Files.readFileSync(Path.join(cwd, out, "train.jsonl"), "utf8")
      const messages = (out: string) => JSON.parse(train(out)).messages
      assert.deepStrictEqual(messages("after"), messages("before"))

      const named = JSON.parse((yield* extract("named", kept.path)).stdout)
      assert.deepStrictEqual(named.sessions, { found: 1, kept: 1, dropped: {} })
    })
  )
})
