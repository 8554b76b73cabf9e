/** Layers of the catalog with each of its two surveys, and with any file system. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect, type FileSystem, Layer, type Path } from "effect"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import { FileSurvey } from "../../src/FileSurvey.ts"
import { IndexRefresh } from "../../src/IndexRefresh.ts"
import { SessionCatalog } from "../../src/SessionCatalog.ts"
import { SessionIndex } from "../../src/SessionIndex.ts"

const above = <E, R>(survey: Layer.Layer<FileSurvey, E, R>) =>
  IndexRefresh.layer.pipe(
    Layer.provideMerge(SessionCatalog.layerWith),
    Layer.provideMerge(Layer.mergeAll(survey, SessionIndex.layer, SessionStore.layer, StoreMigration.layer))
  )

/** With Node's synchronous calls. */
export const fast = above(FileSurvey.layerNode).pipe(
  Layer.provide(StoreLock.layer),
  Layer.provideMerge(Sqlite.layer),
  Layer.provideMerge(NodeServices.layer)
)

/** With the given file system. */
export const over = <R = never>(files: Layer.Layer<FileSystem.FileSystem | Path.Path, never, R>) =>
  above(FileSurvey.layer).pipe(
    Layer.provide(StoreLock.layerInProcess),
    Layer.provideMerge(Sqlite.layer),
    Layer.provideMerge(files)
  )

export const portable = over(NodeServices.layer)

/** With the given environment variables. */
export const inEnvironment = (variables: { readonly [name: string]: string }) =>
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables)))
