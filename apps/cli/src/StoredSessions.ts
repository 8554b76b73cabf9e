/** Layers that find and read sessions in files and containers, and Claude Code transcripts. */
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

/** Containers. */
export const layerStore = SessionStore.layer.pipe(Layer.provideMerge(StoreLock.layer), Layer.provideMerge(Sqlite.layer))

/** The sessions and Claude Code transcripts in files and directories. */
export const layerPaths = (paths: ReadonlyArray<string>) =>
  ClaudeCodeSource.layer.pipe(Layer.provide(StoreSource.layerPaths(paths)), Layer.provide(layerStore))

/** The catalog, and the source that reads what it finds. */
export const layer = IndexRefresh.layer.pipe(
  Layer.provideMerge(SessionCatalog.layerWith),
  Layer.provideMerge(Layer.mergeAll(FileSurvey.layerNode, SessionIndex.layer, StoreSource.layerPaths([]))),
  Layer.provide(layerStore)
)
