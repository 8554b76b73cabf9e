/** Lists an explicitly named file whose header is not in its first MiB. Pi opens such files too. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionSource } from "@pi-sessions/session-file/SessionSource"
import { columnsOf } from "../../CatalogSession.ts"
import { FileSurvey } from "../../FileSurvey.ts"
import { type OtherFile } from "../../OtherFile.ts"
import { type Listed } from "./identifyFiles.ts"

/** Reads an undecided file up to its first header or entry. */
export const withLateHeader = Effect.fnUntraced(function* (source: SessionSource["Service"], file: OtherFile) {
  const survey = yield* FileSurvey
  const [facts] = yield* survey.facts([file.path])
  if (facts === undefined || facts instanceof SessionFileError) return file
  const { modifiedMs, sizeBytes } = facts
  const ref = { path: file.path, sizeBytes, modifiedMs }
  const first = yield* source.lines(ref).pipe(
    Stream.filter((line) => line instanceof HeaderLine || line instanceof SessionEntry),
    Stream.runHead,
    Effect.orElseSucceed(() => Option.none())
  )
  return Option.isSome(first) && first.value instanceof HeaderLine
    ? ({ ...ref, format: "jsonl", ...columnsOf(first.value.decode()) } satisfies Listed)
    : { path: file.path, reason: "no session header" }
})
