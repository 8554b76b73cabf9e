/**
 * Looking at many files: names, sizes and times, first bytes. Ten thousand sessions are asked for in one call, since an
 * Effect for each of them would cost more than the system does.
 *
 * `layer` goes through Effect's FileSystem, so it works wherever that does. `layerNode` makes Node's own synchronous
 * calls in batches and lets others run between them: several times as fast. A file that is a directory, a pipe or a
 * device is told by its type and not read; opening a pipe does not wait for its writer.
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
