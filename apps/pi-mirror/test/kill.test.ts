/** Kill -9 of a real Pi with the mirror. `PI_SESSIONS_KILLS` sets the number of kills. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Line, type Place, hydrate, linesOf, make, sessionIdOf, tested } from "./support/place.ts"

const seed = Dose.firstSeed()
const kills = Dose.of("PI_SESSIONS_KILLS", { test: 1, campaign: 40 })

interface Raw {
  readonly sessionId: string
  readonly generation: number
  readonly seq?: number
  readonly line: string
  readonly sha256: string
}

/** The raw lines of a session in thread order, without repeated entries. */
const linesInThread = (entries: ReadonlyArray<Line>, sessionId: string): ReadonlyArray<Raw> => {
  const seen = new Set<string>()
  return entries.flatMap(({ id, type, payload }) => {
    if (id === undefined || seen.has(id)) return []
    seen.add(id)
    if (type !== "pi.session_header" && type !== "pi.session_entry") return []
    const raw = payload as Raw
    return raw.sessionId === sessionId ? [raw] : []
  })
}

/** Compares the thread with the file; after a kill it may be behind. Returns the number of lines of each. */
const check = (place: Place, file: string, killed = false) => {
  const written = FileSystem.existsSync(file) ? FileSystem.readFileSync(file, "utf8") : ""
  const lines = written.split("\n").slice(0, -1)
  const { id = "" } = JSON.parse(lines[0] ?? "{}") as Line
  const thread = Path.join(place.threads, `${place.threadId}.jsonl`)
  const held = linesInThread(FileSystem.existsSync(thread) ? linesOf(thread) : [], id)
  assert.deepStrictEqual(
    held.map(({ line }) => line),
    killed ? lines.slice(0, held.length) : lines
  )
  held.forEach(({ seq, generation, line, sha256 }, index) => {
    assert.deepStrictEqual([seq ?? 0, generation], [index, 0])
    assert.strictEqual(sha256, createHash("sha256").update(line).digest("hex"))
  })
  return { held: held.length, whole: lines.length }
}

/** Hydrates the thread losslessly and compares the result and its warnings with the file. Counts the outcomes. */
const hydrated = Effect.fnUntraced(function* (place: Place, file: string, target: string, counts: Map<string, number>) {
  const { held, whole } = check(place, file, true)
  if (held === 0) return
  FileSystem.rmSync(target, { force: true })
  const result = yield* Effect.result(hydrate(place, sessionIdOf(file), target))
  const count = (how: string) => counts.set(how, (counts.get(how) ?? 0) + 1)
  if (result._tag === "Failure") {
    assert.strictEqual(result.failure._tag, "LineageIncomplete", result.failure.message)
    assert.isBelow(held, whole, result.failure.message)
    assert.isFalse(FileSystem.existsSync(target))
    return count("behind, refused")
  }
  const lines = FileSystem.readFileSync(file, "utf8").split("\n").slice(0, held)
  assert.strictEqual(FileSystem.readFileSync(target, "utf8"), `${lines.join("\n")}\n`)
  const { behind, warnings } = result.success
  assert.strictEqual(warnings.length, behind.length)
  if (held === whole) return count("whole")
  count(behind.length > 0 ? "behind, with a warning" : "behind, not shown")
})

/** Adds the seed to an error. */
const seeded = <A>(round: number, work: () => A): A => {
  try {
    return work()
  } catch (cause) {
    throw new Error(`round ${round} of PI_SESSIONS_SEED=${seed}`, { cause })
  }
}

describe.each(tested("1.5"))("Pi %s", (version) => {
  it.live(
    "after kill -9, the next start completes the thread: every whole line once and in order",
    Effect.fnUntraced(function* () {
      const random = SeededRandom.make(seed)
      const place = yield* make()
      const file = Path.join(place.pi.sessionDir, "killed.jsonl")
      const target = Path.join(place.pi.root, "hydrated.jsonl")
      const counts = new Map<string, number>()
      for (let kill = 0; kill < kills; kill++) {
        const pi = yield* place.start(version, { args: ["--session", file] })
        const said = pi.prompt(`please write number ${kill}`).pipe(Effect.andThen(pi.prompt(`more of ${kill}`)))
        // Most kills come after the start, although starting takes most of the time.
        if (kill > 0 && random.chance(0.2)) yield* Effect.sleep(random.int(500))
        else {
          yield* pi.request({ type: "get_state" })
          // Counted in events, so that slow machines are killed at the same point.
          const last = random.int(80)
          let seen = 0
          yield* Effect.raceFirst(
            said,
            pi.event(() => seen++ >= last)
          )
          yield* Effect.sleep(random.int(30))
        }
        yield* pi.kill
        seeded(kill, () => check(place, file, true))
        yield* hydrated(place, file, target, counts)
      }
      const last = yield* place.start(version, { args: ["--session", file] })
      yield* last.prompt("the last word")
      assert.strictEqual(yield* last.stop, 0, `PI_SESSIONS_SEED=${seed}`)
      const { held, whole } = seeded(kills, () => check(place, file))
      FileSystem.rmSync(target, { force: true })
      assert.deepStrictEqual((yield* hydrate(place, sessionIdOf(file), target)).behind, [])
      const seen = [...counts].map(([how, times]) => `${how}: ${times}`).join(", ")
      process.stdout.write(
        `kill -9 of Pi ${version}: ${kills} rounds (seed ${seed}), ${held} of ${whole} whole lines in the thread, ` +
          `each once and in order; hydrated after the kills: ${seen}\n`
      )
    }),
    600_000 + kills * 5_000
  )

  it.live(
    "after kill -9, the next session of another file sends what the first one left",
    Effect.fnUntraced(function* () {
      const place = yield* make()
      const file = Path.join(place.pi.sessionDir, "left.jsonl")
      const thread = Path.join(place.threads, `${place.threadId}.jsonl`)
      // A directory in the place of the thread's file: the first session cannot write.
      FileSystem.mkdirSync(thread, { recursive: true })
      const first = yield* place.start(version, { args: ["--session", file] })
      yield* first.prompt("into the void")
      yield* first.kill
      FileSystem.rmdirSync(thread)
      const second = yield* place.start(version, {})
      yield* second.request({ type: "get_state" })
      assert.strictEqual(yield* second.stop, 0)
      assert.isAbove(check(place, file).held, 3)
    }),
    600_000
  )
})
