/**
 * The thread side of `WorkerThreads`: answers one request after the other, and writes lines to a file of its own, so that
 * what crosses between threads is small.
 */
import { type MessagePort } from "node:worker_threads"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type MadePart, type StoredPart, type StoredPiece, piecesOf } from "./DatasetPart.ts"
import * as LooseFile from "../files/LooseFile.ts"
import * as LinesFile from "../files/LinesFile.ts"
import { SharedSign } from "./SharedSign.ts"
import { type Look, type Question } from "../plan/SessionSurvey.ts"
import * as LocalWorkers from "./localWorkers.ts"
import { type Kin, type WorkSettings } from "./WorkerPool.ts"

/** What a thread is asked. */
export type Request =
  | { readonly _tag: "Look"; readonly ref: SessionRef; readonly question: Question }
  | { readonly _tag: "Parts"; readonly kin: Kin; readonly folder: string }

/** What it answers. */
export type Reply =
  | { readonly _tag: "Look"; readonly look: Look }
  | { readonly _tag: "Parts"; readonly parts: ReadonlyArray<StoredPart> }
  | { readonly _tag: "Failed"; readonly error: Pick<SessionFileError, "path" | "operation" | "reason"> }

/** Serves a port until it is closed. */
export const serve = Effect.fn("ExtractThread.serve")(function* (
  port: MessagePort,
  name: string,
  settings: WorkSettings,
  signMemory: SharedArrayBuffer
): Effect.fn.Return<never, never, SessionSource | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const source = yield* SessionSource
  const path = yield* Path.Path
  const sign = new SharedSign(signMemory)
  const workers = LocalWorkers.make(source, settings, sign)
  const requests = yield* Queue.unbounded<Request>()
  port.on("message", (request: Request) => Queue.offerUnsafe(requests, request))
  const spools = new Map<string, LinesFile.LinesFile>()
  const spoolIn = Effect.fnUntraced(function* (folder: string) {
    const known = spools.get(folder)
    if (known !== undefined) return known
    const spool = yield* LinesFile.create(path.join(folder, `spool-${name}.jsonl`))
    spools.set(folder, spool)
    return spool
  })
  const answer = Effect.fnUntraced(function* (request: Request) {
    if (request._tag === "Look") {
      return { _tag: "Look", look: yield* workers.look(request.ref, request.question) } satisfies Reply
    }
    const spool = yield* spoolIn(request.folder)
    const parts = yield* workers.parts(request.kin, request.folder).pipe(
      Stream.mapEffect((part) => ("pieces" in part ? Effect.succeed(part) : store(part, spool, request.folder))),
      Stream.runCollect
    )
    yield* spool.flush
    return { _tag: "Parts", parts } satisfies Reply
  })
  return yield* Effect.forever(
    Queue.take(requests).pipe(
      Effect.flatMap(
        (request): Effect.Effect<Reply, SessionFileError, FileSystem.FileSystem | Path.Path | Scope.Scope> =>
          answer(request)
      ),
      Effect.catch(({ operation, path, reason }) =>
        Effect.succeed<Reply>({ _tag: "Failed", error: { operation, path, reason } })
      ),
      // Without an answer the run would wait for ever.
      Effect.catchDefect((defect) =>
        Effect.succeed<Reply>({
          _tag: "Failed",
          error: { operation: "read", path: "a worker thread", reason: String(defect) }
        })
      ),
      Effect.tap((reply) =>
        Effect.sync(() => {
          sign.end()
          port.postMessage(reply)
        })
      )
    )
  )
})

const store = Effect.fnUntraced(function* (part: MadePart, spool: LinesFile.LinesFile, folder: string) {
  const { files = [], lines: _lines, ...rest } = part
  const pieces: Array<StoredPiece> = []
  for (const { lines, ...told } of piecesOf(part)) pieces.push({ ...told, range: yield* spool.append(lines) })
  const loose = yield* Effect.forEach(files, (file) => LooseFile.write(folder, file))
  return { ...rest, pieces, ...(loose.length === 0 ? {} : { files: loose }) }
})
