/**
 * A disk that is really full: a tmpfs of limited size. The kernel writes what fits, returns a short count, and fails
 * the next write with ENOSPC. Mounting needs privileges that some machines do not give.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"

export interface FullDisk {
  /** The mount point; empty at first. */
  readonly root: string
  /** Fills the disk except for about `leave` bytes, rounded to pages. */
  readonly fill: (leave?: number) => void
  /** Frees what `fill` took. */
  readonly free: () => void
}

const PAGE = 4096
/** The file that fills the disk. */
const BALLAST = ".ballast"

/** Returns the reason if mounting fails. */
const mount = (directory: string, bytes: number): string | undefined => {
  const { error, status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", directory], {
    encoding: "utf8"
  })
  if (status === 0) return undefined
  return error?.message ?? (stderr.trim() || `mount ended with ${status}`)
}

const unmount = (directory: string): void => {
  spawnSync("umount", ["--lazy", directory])
  Fs.rmSync(directory, { recursive: true, force: true })
}

const makeDirectory = (): string => Fs.mkdtempSync(Path.join(Fs.realpathSync(Os.tmpdir()), "pi-sessions-disk-"))

/** The reason why a disk cannot be mounted here; undefined if it can. Prints it, since the tests are then skipped. */
export const refusal = (): string | undefined => {
  const directory = makeDirectory()
  const why = mount(directory, PAGE)
  unmount(directory)
  if (why !== undefined)
    process.stdout.write(`tests on a full disk are skipped: no tmpfs can be mounted here (${why})\n`)
  return why
}

/** Mounts a disk of `bytes`; unmounts it when the scope closes. */
export const make = (bytes: number): Effect.Effect<FullDisk, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const root = makeDirectory()
      const why = mount(root, bytes)
      if (why !== undefined) throw new Error(why)
      return root
    }),
    (root) => Effect.sync(() => unmount(root))
  ).pipe(
    Effect.map((root) => ({
      root,
      fill: (leave = 0) => {
        const file = Fs.openSync(Path.join(root, BALLAST), "a")
        try {
          for (;;) Fs.writeSync(file, Buffer.alloc(PAGE))
        } catch (error) {
          if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error
          Fs.ftruncateSync(file, Math.max(0, Fs.fstatSync(file).size - Math.ceil(leave / PAGE) * PAGE))
        } finally {
          Fs.closeSync(file)
        }
      },
      free: () => Fs.rmSync(Path.join(root, BALLAST), { force: true })
    }))
  )
