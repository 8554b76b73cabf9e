/** The services of the store, over the real disk or over any other file system. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreLock } from "../../src/StoreLock.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"

/** Over Node's file system, with the kernel lock. */
export const live = Layer.mergeAll(SessionStore.layer, StoreMigration.layer).pipe(
  Layer.provideMerge(StoreLock.layer),
  Layer.provideMerge(Sqlite.layer),
  Layer.provideMerge(NodeServices.layer)
)

/** Over a test's file system; the lock works within this process only. */
export const over = <R = never>(files: Layer.Layer<FileSystem.FileSystem | Path.Path, never, R>) =>
  Layer.mergeAll(SessionStore.layer, StoreMigration.layer).pipe(
    Layer.provideMerge(StoreLock.layerInProcess),
    Layer.provideMerge(Sqlite.layer),
    Layer.provideMerge(files)
  )
