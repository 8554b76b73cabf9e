/** The store over the real disk, observed by a test. */
import { NodeServices } from "@effect/platform-node"
import { Effect, FileSystem, Layer } from "effect"
import * as Store from "./storeLayer.ts"

const over = (change: (fs: FileSystem.FileSystem) => Partial<FileSystem.FileSystem>) =>
  Store.over(
    Layer.merge(
      NodeServices.layer,
      Layer.effect(
        FileSystem.FileSystem,
        Effect.map(FileSystem.FileSystem, (fs) => FileSystem.FileSystem.of({ ...fs, ...change(fs) }))
      ).pipe(Layer.provide(NodeServices.layer))
    )
  )

/** Runs `act` before a rename to a name with this suffix. */
export const whenRenamed = (suffix: string, act: (to: string) => void) =>
  over((fs) => ({
    rename: (from, to) =>
      Effect.suspend(() => {
        if (to.endsWith(suffix)) act(to)
        return fs.rename(from, to)
      })
  }))

/** Counts the bytes that are read, by path. */
export const counting = (counts: Map<string, number>) => {
  const count = (path: string, bytes: number) => counts.set(path, (counts.get(path) ?? 0) + bytes)
  return over((fs) => ({
    readFile: (path) => Effect.tap(fs.readFile(path), (bytes) => Effect.sync(() => count(path, bytes.length))),
    open: (path, options) =>
      Effect.map(fs.open(path, options), (file) => {
        // The file is a class instance, so its methods are bound to it.
        const read: FileSystem.File["read"] = (buffer, at) =>
          Effect.tap(file.read(buffer, at), (bytes) => Effect.sync(() => count(path, Number(bytes))))
        return new Proxy(file, {
          get: (target, name) => {
            if (name === "read") return read
            const member: unknown = Reflect.get(target, name, target)
            return typeof member === "function" ? member.bind(target) : member
          }
        })
      })
  }))
}
