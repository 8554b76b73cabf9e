/**
 * Damaged sessions of the real Pis: whatever happens to their bytes, they are examined and repaired without a throw, a
 * repaired one has no errors and is not repaired again, and everything in it that was sound is there byte for byte.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiVersion from "@pi-sessions/testing/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/SessionWalk"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { format } from "../src/SessionFinding.ts"
import * as SessionRepair from "../src/SessionRepair.ts"

type Random = SeededRandom.SeededRandom

const CASES = Number(process.env["PI_SESSIONS_FUZZ"] ?? 600)
const FIRST = Number(process.env["PI_SESSIONS_SEED"] ?? 1)

const TOKENS = [
  '"',
  "{",
  "}",
  "}{",
  "\n",
  "\r\n",
  "\u0000",
  "\ufeff",
  "null\n",
  "\n42\n",
  "\n[]\n",
  '\n{"id":"a"}\n',
  '\n{"type":"session"}\n'
]

const ODD_BLOCKS = ["null", "42", '"text"', "[]", '{"type":"odd"}', '{"type":"text"}', '{"type":"toolCall","name":"t"}']

/** One thing that happens to the bytes of a session. */
const mutate = (random: Random, bytes: Buffer): Buffer => {
  const lines = bytes.toString("latin1").split("\n")
  const at = random.int(bytes.length + 1)
  const to = Math.min(bytes.length, at + 1 + random.int(random.chance(0.5) ? 3 : 300))
  const token = Buffer.from(TOKENS[random.int(TOKENS.length)] ?? "")
  const line = random.int(lines.length)
  const [first = "", second = ""] = [lines[line], lines[line + 1]]
  const idOf = (text: string): string => /"id":"([^"]*)"/.exec(text)?.[1] ?? "none"
  const other = lines[random.int(lines.length)] ?? ""
  const replace = (from: number, count: number, ...by: ReadonlyArray<string>): Buffer =>
    Buffer.from([...lines.slice(0, from), ...by, ...lines.slice(from + count)].join("\n"), "latin1")
  const edit = (pattern: RegExp, by: string): Buffer =>
    replace(
      line,
      1,
      first.replace(pattern, () => by)
    )
  return random.weighted<() => Buffer>(
    [2, () => Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)])],
    [2, () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)])],
    [1, () => Buffer.concat([bytes.subarray(0, at), Buffer.from([random.int(256)]), bytes.subarray(to)])],
    [1, () => bytes.subarray(0, at)],
    [1, () => bytes.subarray(at)],
    [2, () => replace(line, 2, first + second)],
    [2, () => replace(line, 2, first.slice(0, random.int(first.length + 1)) + second)],
    [1, () => replace(line, 1, first, first)],
    [2, () => replace(line, 1)],
    [2, () => replace(line, 2, second, first)],
    [1, () => replace(line, 1, "", other)],
    [3, () => edit(/"parentId":("[^"]*"|null)/, `"parentId":"${random.chance(0.3) ? "nobody" : idOf(other)}"`)],
    [2, () => edit(/"id":"[^"]*"/, `"id":"${idOf(other)}"`)],
    [1, () => edit(/"id":"[^"]*",?/, "")],
    [1, () => edit(/"id":"[^"]*"/, '"id":""')],
    [2, () => edit(/"usage":/, '"usages":')],
    [2, () => edit(/"content":/, random.chance(0.5) ? '"contents":' : '"content":"text","was":')],
    [1, () => edit(/"message":/, '"massage":')],
    [2, () => edit(/"content":\[/, `"content":[${ODD_BLOCKS[random.int(ODD_BLOCKS.length)]},`)],
    [1, () => edit(/"content":("[^"]*"|\[)/, '"content":42,"was":[')],
    [1, () => edit(/"(text|thinking|arguments|name|summary|command|output|replacement)":/, '"lost":')],
    [1, () => edit(/"replacement":(null|\{)/, '"replacement":{"content":[null]},"was":{')],
    [2, () => edit(/"toolCallId":"/, '"toolCallId":"x')],
    [1, () => edit(/"stopReason":"[^"]*"/, '"stopReason":"aborted"')],
    [2, () => edit(/"firstKeptEntryId":"[^"]*"/, `"firstKeptEntryId":"${idOf(other)}"`)],
    [1, () => replace(0, 1, (lines[0] ?? "").replace(/"version":3,?/, random.chance(0.5) ? "" : '"version":2,'))],
    [1, () => Buffer.concat([Buffer.from("\ufeff"), bytes])]
  )()
}

const textsOf = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<string> => entries.map(({ text }) => text)

/** What of a repaired session is not as it should be. */
const check = (bytes: Buffer, name: string): boolean => {
  const original = Session.read(bytes)
  const findings = SessionDoctor.examine(original)
  const { session, changes } = SessionRepair.repair(original)
  assert.isTrue(bytes.equals(Session.toBytes(original)), `${name}: the original is as it was`)
  const isNothing = original.header === undefined && original.tree.getEntries().length === 0
  if (isNothing) {
    assert.strictEqual(session, original)
    return findings.length > 0
  }
  const copy = Session.toBytes(session)
  const read = Session.read(copy)
  const errors = SessionDoctor.examine(read).filter(({ severity }) => severity === "error")
  assert.deepStrictEqual(errors.map(format), [], `${name}: errors in the repaired copy`)
  const again = SessionRepair.repair(read)
  assert.deepStrictEqual(again.changes, [], `${name}: changes of the repaired copy`)
  if (changes.length === 0) return findings.length > 0

  // Entries that no change names are there, in their order. Old versions are written anew as a whole.
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
    "are examined and repaired, whatever happened to them",
    Effect.fnUntraced(function* () {
      const root = yield* temporaryFolder
      const walks: Array<Buffer> = []
      for (let seed = 1; seed <= 10; seed++) {
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
        for (let times = 1 + random.int(6); times > 0; times--) bytes = mutate(random, bytes)
        if (check(bytes, `seed ${seed}`)) found++
      }
      if (CASES >= 50) assert.isAtLeast(found * 2, CASES, "most of them are damaged")
      process.stdout.write(`DoctorFuzz: ${CASES} damaged sessions of Pi ${version}, ${found} with findings\n`)
    }, Effect.scoped),
    3_600_000
  )
})
