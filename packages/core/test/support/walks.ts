/** Real sessions to test with: random walks through both real Pis, and what the Pis say of the files. */
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/PiModule"
import * as PiVersion from "@pi-sessions/testing/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/SessionWalk"
import { Effect, type Scope } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Util from "node:util"
import { assert } from "@effect/vitest"
import { type Json } from "../../src/Json.ts"
import * as Session from "../../src/Session.ts"
import * as settings from "./settings.ts"

/** A file that a walk left. */
export interface WalkFile {
  /** Names version, seed and file, for messages. */
  readonly name: string
  readonly version: PiVersion.PiVersion
  readonly path: string
  readonly bytes: Buffer
  readonly session: Session.Session
  /** Where the walk ended: the last of its files. */
  readonly isLast: boolean
  /** For choices about this file. */
  readonly random: SeededRandom.SeededRandom
}

/** Both real Pis, oldest first. */
export const pis: Effect.Effect<ReadonlyArray<PiModule.PiModule>> = Effect.promise(() =>
  Promise.all(PiVersion.versions.map(PiModule.load))
)

/** Every file that so many walks leave, forks included. The folder goes with the scope. */
export const files = Effect.fnUntraced(function* (
  version: PiVersion.PiVersion,
  count: number,
  steps = 40
): Effect.fn.Return<ReadonlyArray<WalkFile>, never, Scope.Scope> {
  const root = yield* temporaryFolder
  const found: Array<WalkFile> = []
  for (const seed of settings.seeds(count)) {
    const dir = Path.join(root, String(seed))
    const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps, dir, cwd: "/srv/project" }))
    for (const [at, path] of walk.files.entries()) {
      const bytes = Fs.readFileSync(path)
      found.push({
        name: `Pi ${version}, seed ${seed}, file ${at + 1} of ${walk.files.length}`,
        version,
        path,
        bytes,
        session: Session.read(bytes),
        isLast: path === walk.file,
        random: SeededRandom.make(seed * 1000 + at)
      })
    }
  }
  return found
})

/** Members of entries, messages and events that hold the id of an entry. */
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

/** What a value is in a file, with other ids where Pi had to make them up. */
export const plain = (value: unknown, rename?: ReadonlyMap<string, string>): Json => {
  const text = JSON.stringify(value, (key, member: unknown) =>
    rename !== undefined && idKeys.has(key) && typeof member === "string" ? (rename.get(member) ?? member) : member
  )
  const parsed: Json = JSON.parse(text ?? "null")
  return parsed
}

/** A value without timestamps: Pi's are the clock's. */
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
