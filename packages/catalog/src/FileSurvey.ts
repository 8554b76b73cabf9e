/**
 * Reads names, sizes, times and first bytes of many files in one call. One Effect per file would cost more than the
 * system calls (docs/adr/008-fast-reading.md).
 *
 * `layer` uses Effect's FileSystem. `layerNode` makes synchronous calls of Node in batches and yields between them; it
 * is several times as fast. `heads` reads regular files only, and never waits for the writer of a pipe.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { type Survey } from "./FileFacts.ts"
import * as nodeSurvey from "./internal/find/nodeSurvey.ts"
import * as portableSurvey from "./internal/find/portableSurvey.ts"

export class FileSurvey extends Context.Service<FileSurvey, Survey>()("@pi-sessions/catalog/FileSurvey") {
  static readonly layer = Layer.effect(FileSurvey, portableSurvey.make)
  static readonly layerNode = Layer.succeed(FileSurvey, nodeSurvey.survey)
}
