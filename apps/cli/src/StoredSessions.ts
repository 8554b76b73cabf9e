/** Sessions wherever they are, in files and in containers: loaded by the commands that read sessions, when they run. */
import * as Layer from "effect/Layer"
import { FileSurvey } from "@pi-sessions/catalog/FileSurvey"
import { IndexRefresh } from "@pi-sessions/catalog/IndexRefresh"
import { SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import { SessionIndex } from "@pi-sessions/catalog/SessionIndex"
import * as ClaudeCodeSource from "@pi-sessions/session-file/ClaudeCodeSource"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import * as StoreSource from "@pi-sessions/store/StoreSource"

const storeLayer = SessionStore.layer.pipe(Layer.provide(StoreLock.layer), Layer.provideMerge(Sqlite.layer))

/** Sessions in files and directories that were named, transcripts of Claude Code among them. */
export const layerPaths = (paths: ReadonlyArray<string>) =>
  ClaudeCodeSource.layer.pipe(Layer.provide(StoreSource.layerPaths(paths)), Layer.provide(storeLayer))

/** The catalog with what it is made of, and the source that reads what it found. */
export const layer = IndexRefresh.layer.pipe(
  Layer.provideMerge(SessionCatalog.layerWith),
  Layer.provideMerge(Layer.mergeAll(FileSurvey.layerNode, SessionIndex.layer, StoreSource.layerPaths([]))),
  Layer.provide(storeLayer)
)
