/** Random walks through both real Pis: the session files that they leave, for all tests. */
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { Effect, type Scope } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Util from "node:util"
import { assert } from "@effect/vitest"
import { type Json } from "../../src/Json.ts"
import * as Session from "../../src/Session.ts"
import * as settings from "./settings.ts"

/** A session file of a walk. */
export interface WalkFile {
  /** Version, seed and file, for messages. */
  readonly name: string
  readonly version: PiVersion.PiVersion
  readonly path: string
  readonly bytes: Buffer
  readonly session: Session.Session
  /** Whether the walk ended in this file. */
  readonly isLast: boolean
  /** For choices about this file. */
  readonly random: SeededRandom.SeededRandom
}

/** Both real Pis, oldest first. */
export const pis: Effect.Effect<ReadonlyArray<PiModule.PiModule>> = Effect.promise(() =>
  Promise.all(PiVersion.versions.map(PiModule.load))
)

/** A file of a walk. */
interface Left {
  readonly name: string
  readonly bytes: Buffer
  readonly isLast: boolean
}

/** Walks are slow, and many tests use the same ones. */
const known = new Map<string, ReadonlyArray<Left>>()

const walked = Effect.fnUntraced(function* (version: PiVersion.PiVersion, seed: number, steps: number, dir: string) {
  const key = `${version} ${seed} ${steps}`
  const before = known.get(key)
  if (before !== undefined) return before
  const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps, dir, cwd: "/srv/project" }))
  const left = walk.files.map((path) => ({
    name: Path.basename(path),
    bytes: Fs.readFileSync(path),
    isLast: path === walk.file
  }))
  known.set(key, left)
  return left
})

/** The files of so many walks, forks included. They are deleted with the scope. */
export const files = Effect.fnUntraced(function* (
  version: PiVersion.PiVersion,
  count: number,
  steps = 40
): Effect.fn.Return<ReadonlyArray<WalkFile>, never, Scope.Scope> {
  const root = yield* temporaryFolder
  const found: Array<WalkFile> = []
  for (const seed of settings.seeds(count)) {
    const dir = Path.join(root, String(seed))
    Fs.mkdirSync(dir)
    const left = yield* walked(version, seed, steps, dir)
    for (const [at, { bytes, isLast, name }] of left.entries()) {
      const path = Path.join(dir, name)
      Fs.writeFileSync(path, bytes)
      found.push({
        name: `Pi ${version}, seed ${seed}, file ${at + 1} of ${left.length}`,
        version,
        path,
        bytes,
        session: Session.read(bytes),
        isLast,
        random: SeededRandom.make(seed * 1000 + at)
      })
    }
  }
  return found
})

/** Members of entries, messages and events with the id of an entry. */
const idKeys = new Set([
  "id",
  "parentId",
  "targetId",
  "fromId",
  "firstKeptEntryId",
  "oldLeafId",
  "newLeafId",
  "commonAncestorId"
])

/** A value as it is in a file; `rename` maps Pi's random ids. */
export const plain = (value: unknown, rename?: ReadonlyMap<string, string>): Json => {
  const text = JSON.stringify(value, (key, member: unknown) =>
    rename !== undefined && idKeys.has(key) && typeof member === "string" ? (rename.get(member) ?? member) : member
  )
  const parsed: Json = JSON.parse(text ?? "null")
  return parsed
}

/** A value without timestamps, which Pi takes from the clock. */
export const timeless = (value: Json): Json => {
  const text = JSON.stringify(value, (key, member: unknown) => (key === "timestamp" ? undefined : member))
  const parsed: Json = JSON.parse(text)
  return parsed
}

/** Fails with both values when they are not deeply equal. */
export const same = (ours: unknown, theirs: unknown, name: string): void => {
  // The assertion is slow even where it succeeds.
  if (!Util.isDeepStrictEqual(ours, theirs)) assert.deepStrictEqual(ours, theirs, name)
}
