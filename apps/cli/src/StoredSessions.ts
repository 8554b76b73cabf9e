/** Sessions wherever they are, in files and in containers: loaded by the commands that read sessions, when they run. */
import * as Layer from "effect/Layer"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import * as StoreSource from "@pi-sessions/store/StoreSource"

export const layerPaths = (paths: ReadonlyArray<string>) =>
  StoreSource.layerPaths(paths).pipe(
    Layer.provide(SessionStore.layer),
    Layer.provide(StoreLock.layer),
    Layer.provide(Sqlite.layer)
  )
