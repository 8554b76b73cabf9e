/**
 * Records the paths that our code passes to Node's file functions. Effect's FileSystem keeps the original functions from its
 * loading, so its calls are not seen; `RecordingFileSystem` records those.
 */
import * as Fs from "node:fs"
import * as FsLater from "node:fs/promises"
import { createRequire, syncBuiltinESMExports } from "node:module"

const require = createRequire(import.meta.url)

export interface Recorded {
  readonly call: string
  readonly path: string
}

/** Runs `work` while paths are recorded; gives them. */
export const recorded = async (work: () => Promise<unknown>): Promise<ReadonlyArray<Recorded>> => {
  const calls: Array<Recorded> = []
  const undo: Array<() => void> = []
  const wrap = (module: object, prefix: string): void => {
    for (const name of Object.keys(module)) {
      const original: unknown = Reflect.get(module, name)
      // Classes (`Stats`, `ReadStream`) are no calls.
      if (typeof original !== "function" || /^[A-Z]/.test(name)) continue
      const wrapped = function (this: unknown, ...args: ReadonlyArray<unknown>): unknown {
        for (const path of args.slice(0, 2)) {
          if (typeof path === "string" || path instanceof URL) calls.push({ call: prefix + name, path: String(path) })
        }
        return Reflect.apply(original, this, args)
      }
      Object.assign(wrapped, original)
      Reflect.set(module, name, wrapped)
      undo.push(() => Reflect.set(module, name, original))
    }
  }
  wrap(require("node:fs"), "")
  wrap(require("node:fs/promises"), "promises.")
  syncBuiltinESMExports()
  try {
    await work()
  } finally {
    for (const restore of undo) restore()
    syncBuiltinESMExports()
  }
  return calls
}

/** Whether the record sees both ways into the file system. */
export const works = async (path: string): Promise<boolean> => {
  const calls = await recorded(async () => {
    Fs.existsSync(path)
    await FsLater.stat(path)
  })
  return calls.filter((call) => call.path === path).length === 2
}
