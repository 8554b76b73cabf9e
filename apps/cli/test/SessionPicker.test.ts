/** The choice of a session at a terminal, and the error without one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import * as SessionPicker from "../src/SessionPicker.ts"
import * as PseudoTerminal from "./support/pseudoTerminal.ts"
import { fixtures } from "./support/storeFolder.ts"

/** A home with three sessions of different ages, in the place of Pi's environment. */
const home = Effect.gen(function* () {
  const cwd = yield* temporaryFolder
  const sessions = Path.join(cwd, ".pi/agent/sessions/--x--")
  Files.mkdirSync(sessions, { recursive: true })
  const put = (fixture: string, age: number): void => {
    const file = Path.join(sessions, Path.basename(fixture))
    Files.copyFileSync(Path.join(fixtures, fixture), file)
    const time = new Date(Date.UTC(2026, 10, 20) - age * 60_000)
    Files.utimesSync(file, time, time)
  }
  put("sessions/project/branches.jsonl", 1)
  put("sessions/project/compacted.jsonl", 2)
  put("sessions/gt/witness-patrol.jsonl", 3)
  return cwd
})

const BRANCHES = "01a1fb8b-2f4a-753e-9222-6a16c79b2aa7"
const WITNESS = JSON.parse(
  Files.readFileSync(Path.join(fixtures, "sessions/gt/witness-patrol.jsonl"), "utf8").split("\n")[0] ?? ""
).id

const DOWN = "\u001b[B"
const PROMPT = "Which session?"

describe.skipIf(PseudoTerminal.missing !== undefined)("without a session, at a terminal", () => {
  const at = Effect.fnUntraced(function* (typed: ReadonlyArray<PseudoTerminal.Typed>) {
    const cwd = yield* home
    const stdoutTo = Path.join(cwd, "stdout")
    const run = yield* Effect.promise(() => PseudoTerminal.run(["tree"], { cwd, typed, stdoutTo }))
    return { ...run, stdout: Files.readFileSync(stdoutTo, "utf8") }
  })

  it.live("enter chooses the newest; the list is on stderr, only the result on stdout", () =>
    Effect.gen(function* () {
      const { screen, status, stdout } = yield* at([{ after: PROMPT, keys: "\r" }])
      assert.strictEqual(status, 0, screen)
      assert.strictEqual(stdout.split("\n")[0], `${BRANCHES}  /home/dev/work/app`)
      assert.notInclude(stdout, "\u001b")
      assert.include(screen, "2026-11-19 23:57  01a1fb8b-")
      assert.include(screen, '"witness patrol"  /home/ubuntu/gt/gastow')
    })
  )

  it.live("arrows, or a part of its name, choose another", () =>
    Effect.gen(function* () {
      const down = yield* at([
        { after: PROMPT, keys: `${DOWN}${DOWN}` },
        { after: "❯ 2026-11-19 23:57", keys: "\r" }
      ])
      assert.strictEqual(down.stdout.split(" ")[0], WITNESS, down.screen)
      const typed = yield* at([
        { after: PROMPT, keys: "patrol" },
        { after: "filter: patrol", keys: "\r" }
      ])
      assert.strictEqual(typed.stdout.split(" ")[0], WITNESS, typed.screen)
    })
  )

  it.live("escape and control-C exit 130, with nothing on stdout", () =>
    Effect.gen(function* () {
      for (const keys of ["\u001b", "\u0003"]) {
        const { screen, status, stdout } = yield* at([{ after: PROMPT, keys }])
        assert.deepStrictEqual([status, stdout], [130, ""], screen)
        assert.notInclude(screen, "error")
        assert.isTrue(screen.includes("\u001b[?25h"), "the cursor is shown again")
      }
    })
  )
})

describe("the names in the list", () => {
  const session = (n: number, sizeBytes: number, name?: string): CatalogSession => {
    const columns = { path: `/${n}.jsonl`, id: `${n}`, cwd: "/w", timestamp: "", sizeBytes }
    const indexed = name === undefined ? undefined : { ...columns, messageCount: 1, lastModifiedMs: 0, name }
    return { ...columns, modifiedMs: 0, format: "jsonl", indexed }
  }

  it("are read from no more than a few megabytes, of the newest; what the index knows costs nothing", () => {
    const small = Array.from({ length: 50 }, (_, at) => session(at, 10_000))
    assert.deepStrictEqual(SessionPicker.cheapToName(small), small)
    const large = [session(1, 1000), session(2, 290_000_000, "known"), session(3, 290_000_000), session(4, 1000)]
    assert.deepStrictEqual(
      SessionPicker.cheapToName(large).map(({ id }) => id),
      ["1", "2"]
    )
    const read = SessionPicker.cheapToName(Array.from({ length: 10_000 }, (_, at) => session(at, 10_000)))
    assert.isAtMost(
      read.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      1 << 23
    )
  })
})

describe("without a session and without a terminal", () => {
  it.live("the error names the newest, with exit 2", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      Files.mkdirSync(Path.join(cwd, ".pi"))
      Files.mkdirSync(Path.join(cwd, "sessions"))
      Files.writeFileSync(
        Path.join(cwd, ".pi/settings.json"),
        JSON.stringify({ sessionDir: Path.join(cwd, "sessions") })
      )
      for (let n = 1; n <= 7; n++) {
        const file = Path.join(cwd, "sessions", `${n}.jsonl`)
        Files.writeFileSync(file, `{"type":"session","version":3,"id":"id-${n}\\u001b[2J","cwd":"/work"}\n`)
        const time = new Date(Date.UTC(2090, 0, n))
        Files.utimesSync(file, time, time)
      }
      for (const command of ["show", "tree", "fork"]) {
        const run = yield* call([command], cwd)
        assert.deepStrictEqual([run.status, run.stdout], [2, ""])
        const lines = run.stderr.trimEnd().split("\n")
        assert.strictEqual(lines[0], "error: which session? Give a path, an id or its beginning.")
        assert.match(lines[1] ?? "", /^The newest of \d+:$/)
        assert.deepStrictEqual(
          lines.slice(2),
          [7, 6, 5, 4, 3].map((n) => `  2090-01-0${n} 00:00  id-${n}␛[2J  /work`)
        )
      }
    })
  )
})
