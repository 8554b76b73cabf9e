/**
 * Folders that go with their scope, each of them a real path.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Fs from "node:fs/promises"
import * as Os from "node:os"
import * as Path from "node:path"

const folderIn = (parent: () => Promise<string>) =>
  Effect.acquireRelease(
    Effect.promise(async () => Fs.mkdtemp(Path.join(await Fs.realpath(await parent()), "pi-sessions-"))),
    (dir) => Effect.promise(() => Fs.rm(dir, { recursive: true, force: true, maxRetries: 3 }))
  )

/** A folder on the disk that holds temporary files. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = folderIn(async () => Os.tmpdir())

/** Linux keeps this file system in memory; containers may have a small one, which would be full too soon. */
const MEMORY = "/dev/shm"
const WANTED_BYTES = 1 << 30

/**
 * A folder in memory where the machine has room there, else on the disk: for tests of bytes, which a slow disk would
 * only make wait at each sync. Tests of the disk itself take {@link temporaryFolder}.
 */
export const memoryFolder: Effect.Effect<string, never, Scope.Scope> = folderIn(async () => {
  const isRoomy = await Fs.statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize >= WANTED_BYTES,
    () => false
  )
  return isRoomy ? MEMORY : Os.tmpdir()
})
