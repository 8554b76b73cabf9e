/** The thread side of `WorkerThreads`: answers requests one after another. */
import { type MessagePort, type TransferListItem } from "node:worker_threads"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as LinesFile from "../files/LinesFile.ts"
import * as LooseFile from "../files/LooseFile.ts"
import { type Look, type Question } from "../plan/SessionSurvey.ts"
import { type MadePart, type StoredPart, type StoredPiece, piecesOf } from "../parts/DatasetPart.ts"
import * as LocalWorkers from "./localWorkers.ts"
import { SharedSign } from "./SharedSign.ts"
import { type Kin, type WorkSettings } from "./WorkerPool.ts"

export type Request =
  | { readonly _tag: "Look"; readonly ref: SessionRef; readonly question: Question }
  | { readonly _tag: "Parts"; readonly kin: Kin; readonly folder: string }

export interface NumberedRequest {
  readonly number: number
  readonly request: Request
}

export type Reply =
  | { readonly _tag: "Look"; readonly look: Look }
  | { readonly _tag: "Parts"; readonly parts: ReadonlyArray<MadePart | StoredPart> }
  | { readonly _tag: "Failed"; readonly error: Pick<SessionFileError, "path" | "operation" | "reason"> }

/** Serves a port until it is closed. */
export const serve = Effect.fn("ExtractThread.serve")(function* (
  port: MessagePort,
  name: string,
  settings: WorkSettings,
  signMemory: SharedArrayBuffer
): Effect.fn.Return<never, never, SessionSource | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const sign = new SharedSign(signMemory)
  const workers = LocalWorkers.make(yield* SessionSource, settings, sign)
  const requests = yield* Queue.unbounded<NumberedRequest>()
  port.on("message", (request: NumberedRequest) => Queue.offerUnsafe(requests, request))
  const lines = new LinesOut(name)
  const answer = (request: Request): Effect.Effect<Reply, SessionFileError, LinesOutServices> =>
    request._tag === "Look"
      ? Effect.map(workers.look(request.ref, request.question), (look) => ({ _tag: "Look", look }))
      : workers.parts(request.kin, request.folder).pipe(
          Stream.mapEffect((part) => lines.take(part, request.folder)),
          Stream.runCollect,
          Effect.tap(() => lines.flush),
          Effect.map((parts) => ({ _tag: "Parts", parts }))
        )
  return yield* Effect.forever(
    Effect.flatMap(Queue.take(requests), ({ number, request }) => {
      sign.take(number)
      return answer(request).pipe(
        Effect.catch(({ operation, path, reason }) =>
          Effect.succeed<Reply>({ _tag: "Failed", error: { operation, path, reason } })
        ),
        // The run waits for a reply to every request.
        Effect.catchDefect((defect) =>
          Effect.succeed<Reply>({
            _tag: "Failed",
            error: { operation: "read", path: "a worker thread", reason: String(defect) }
          })
        ),
        Effect.tap((reply) =>
          Effect.sync(() => {
            sign.end()
            port.postMessage(reply, lines.buffers())
          })
        )
      )
    })
  )
})

/** Lines of one reply that are sent as memory; further lines are written to a file, so that replies stay small. */
const MEMORY_BYTES = 2 << 20

type LinesOutServices = FileSystem.FileSystem | Path.Path | Scope.Scope

/** Prepares the lines of parts for the reply: packed into one buffer for each part, or in a file of the thread. */
class LinesOut {
  readonly #name: string
  /** Files of the thread, by folder. */
  readonly #spools = new Map<string, LinesFile.LinesFile>()
  /** Of the current reply. */
  #buffers: Array<ArrayBuffer> = []
  #bytes = 0

  constructor(name: string) {
    this.#name = name
  }

  take(
    part: MadePart | StoredPart,
    folder: string
  ): Effect.Effect<MadePart | StoredPart, SessionFileError, LinesOutServices> {
    if ("pieces" in part) return Effect.succeed(part)
    const bytes = part.lines.reduce((sum, { line }) => sum + line.length, 0)
    if (part.files !== undefined || this.#bytes + bytes > MEMORY_BYTES) return this.#store(part, folder)
    this.#bytes += bytes
    return Effect.succeed(this.#packed(part, bytes))
  }

  /** The buffers of the current reply, to be transferred. The next reply begins. */
  buffers(): ReadonlyArray<TransferListItem> {
    const buffers = this.#buffers
    this.#buffers = []
    this.#bytes = 0
    return buffers
  }

  get flush(): Effect.Effect<void, SessionFileError> {
    return Effect.forEach(this.#spools.values(), (spool) => spool.flush, { discard: true })
  }

  #packed(part: MadePart, bytes: number): MadePart {
    if (bytes === 0) return part
    const packed = new Uint8Array(bytes)
    this.#buffers.push(packed.buffer)
    let end = 0
    const lines = part.lines.map((one) => {
      const start = end
      packed.set(one.line, start)
      end += one.line.length
      return { ...one, line: packed.subarray(start, end) }
    })
    return { ...part, lines }
  }

  #store(part: MadePart, folder: string): Effect.Effect<StoredPart, SessionFileError, LinesOutServices> {
    return Effect.gen({ self: this }, function* () {
      const { files = [], lines: _lines, ...rest } = part
      const spool = yield* this.#spoolIn(folder)
      const pieces: Array<StoredPiece> = []
      for (const { lines, ...facts } of piecesOf(part)) pieces.push({ ...facts, range: yield* spool.append(lines) })
      const loose = yield* Effect.forEach(files, (file) => LooseFile.write(folder, file))
      return { ...rest, pieces, ...(loose.length === 0 ? {} : { files: loose }) }
    })
  }

  #spoolIn(folder: string): Effect.Effect<LinesFile.LinesFile, SessionFileError, LinesOutServices> {
    const known = this.#spools.get(folder)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.flatMap(Path.Path, (path) => LinesFile.create(path.join(folder, `spool-${this.#name}.jsonl`))).pipe(
      Effect.tap((spool) => Effect.sync(() => this.#spools.set(folder, spool)))
    )
  }
}
