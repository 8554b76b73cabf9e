/**
 * Damages the bytes of real sessions at random. The doctor and the repair do not throw; the copy has no errors and
 * needs no further repair; every sound entry is in it byte for byte. `PI_SESSIONS_FUZZ`: sessions of each Pi.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as DamagedBytes from "@pi-sessions/testing/sessions/DamagedBytes"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { format } from "../src/SessionFinding.ts"
import * as SessionRepair from "../src/SessionRepair.ts"

const CASES = Dose.of("PI_SESSIONS_FUZZ", { test: 100, campaign: 20_000 })
const FIRST = Dose.firstSeed()

const textsOf = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<string> => entries.map(({ text }) => text)

/** The ids of the copy that a change mentions. */
const idsIn = (what: string): ReadonlyArray<string> => {
  const named =
    /it follows entry ("(?:[^"\\]|\\.)*")|it keeps what is from entry ("(?:[^"\\]|\\.)*")|it gets the id (\S+?)(?:;|$)/g
  return [...what.matchAll(named)].flatMap(([, parent, kept, made]) => {
    const quoted = parent ?? kept
    return quoted === undefined ? (made ?? []) : [String(JSON.parse(quoted))]
  })
}

/** Checks the repair of a session. Returns whether it had findings. */
const check = (bytes: Buffer, name: string): boolean => {
  const original = Session.read(bytes)
  const findings = SessionDoctor.examine(original)
  const { session, changes } = SessionRepair.repair(original)
  assert.isTrue(bytes.equals(Session.toBytes(original)), `${name}: the original is unchanged`)
  const isNothing = original.header === undefined && original.tree.getEntries().length === 0
  if (isNothing) {
    assert.strictEqual(session, original)
    return findings.length > 0
  }
  const copy = Session.toBytes(session)
  const read = Session.read(copy)
  const errors = SessionDoctor.examine(read).filter(({ severity }) => severity === "error")
  assert.deepStrictEqual(errors.map(format), [], `${name}: errors in the repaired copy`)
  for (const { entryId, what } of changes) {
    for (const id of [entryId, ...idsIn(what)])
      if (id !== undefined) assert.isDefined(read.tree.getEntry(id), `${name}: ${what}: the copy has no ${id}`)
  }
  const again = SessionRepair.repair(read)
  assert.deepStrictEqual(again.changes, [], `${name}: changes of the repaired copy`)
  if (changes.length === 0) return findings.length > 0

  // Entries without a change are in the copy, in their order. Old versions are rewritten completely.
  const version = original.header?.decode()["version"]
  if (version !== 3 && original.header !== undefined) return true
  const changed = new Set(changes.map(({ byteOffset }) => byteOffset))
  const sound = original.tree.getEntries().filter(({ byteOffset }) => !changed.has(byteOffset))
  const kept = textsOf(read.tree.getEntries())
  let from = 0
  for (const text of textsOf(sound)) {
    from = kept.indexOf(text, from) + 1
    assert.isAbove(from, 0, `${name}: ${text}`)
  }
  return true
}

describe.each(PiVersion.versions)("damaged sessions of Pi %s", (version) => {
  it.effect(
    "are examined and repaired without an error",
    Effect.fnUntraced(function* () {
      const root = yield* temporaryFolder
      const walks: Array<Buffer> = []
      for (let seed = 1; seed <= 5; seed++) {
        const dir = Path.join(root, String(seed))
        const walk = yield* Effect.promise(() =>
          SessionWalk.walk(version, { seed, steps: 40, dir, cwd: "/srv/project" })
        )
        for (const file of walk.files) walks.push(Fs.readFileSync(file))
      }
      let found = 0
      for (let seed = FIRST; seed < FIRST + CASES; seed++) {
        const random = SeededRandom.make(seed)
        let bytes = walks[seed % walks.length] ?? Buffer.alloc(0)
        for (let times = 1 + random.int(6); times > 0; times--) bytes = DamagedBytes.damage(random, bytes)
        if (check(bytes, `seed ${seed}`)) found++
      }
      assert.isAtLeast(found * 2, CASES, "most of them are damaged")
      process.stdout.write(`DoctorFuzz: ${CASES} damaged sessions of Pi ${version}, ${found} with findings\n`)
    }, Effect.scoped)
  )
})
