/**
 * A contender of search.bench.ts. Arguments: `DIRECTORY PATTERN SCOPE CASE literal|regex first|further`. Lists and
 * searches the sessions: once (`first`), or repeatedly for a median after a warm-up (`further`).
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import { StoreLock } from "@pi-sessions/store/StoreLock"
import * as StoreSource from "@pi-sessions/store/StoreSource"
import { report, reportMedian } from "@pi-sessions/testing/Bench"
import { SearchFiles } from "../../src/SearchFiles.ts"
import * as SearchPattern from "../../src/SearchPattern.ts"
import { SearchScope } from "../../src/SearchScope.ts"
import { SessionCatalog } from "../../src/SessionCatalog.ts"
import { SessionSearch } from "../../src/SessionSearch.ts"

const [directory = "", source = "", scope = "", rule = "", kind = "", which = ""] = process.argv.slice(2)

const pattern = Result.getOrThrow(
  SearchPattern.make(source, { case: Schema.decodeUnknownSync(SearchPattern.CaseRule)(rule), regex: kind === "regex" })
)

const search = Effect.gen(function* () {
  const catalog = yield* SessionCatalog
  const { sessions } = yield* catalog.list({ sessions: [directory], useIndex: false })
  const service = yield* SessionSearch
  const query = { sessions, pattern, scope: Schema.decodeUnknownSync(SearchScope)(scope) }
  return yield* Stream.runCount(service.search(query))
})

const storeLayer = SessionStore.layer.pipe(Layer.provide(StoreLock.layer), Layer.provideMerge(Sqlite.layer))
const sessionsLayer = Layer.mergeAll(SessionCatalog.layerNode, StoreSource.layerPaths([])).pipe(
  Layer.provide(storeLayer)
)
const layer = SessionSearch.layer.pipe(
  Layer.provide(SearchFiles.layerNode),
  Layer.provideMerge(sessionsLayer),
  Layer.provide(NodeServices.layer)
)

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const context = yield* Layer.build(layer)
      const work = () => Effect.runPromise(Effect.provide(search, context))
      yield* Effect.promise(() => (which === "further" ? reportMedian(work) : report(work)))
    })
  )
)
