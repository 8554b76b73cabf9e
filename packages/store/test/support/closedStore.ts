/** Closed stores with given entries. */
import * as Path from "node:path"
import { Effect } from "effect"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../../src/SessionStore.ts"
import { type WriterOptions } from "../../src/StoreWriter.ts"
import * as Sessions from "./sessions.ts"

/** A closed store of `given`, settled with a checkpoint after the first `settledAt` of them. */
export const closedStore = Effect.fnUntraced(function* (
  given: ReadonlyArray<SessionEntry>,
  { settledAt = given.length, ...options }: WriterOptions & { readonly settledAt?: number } = { segmentBytes: 500 }
) {
  const directory = yield* memoryFolder
  const store = yield* SessionStore
  yield* Effect.scoped(
    Effect.gen(function* () {
      const writer = yield* store.create(directory, Sessions.headerLine(), options)
      yield* writer.appendAll(given.slice(0, settledAt))
      if (settledAt > 0) yield* writer.checkpoint()
      yield* writer.appendAll(given.slice(settledAt))
    })
  )
  const container = Path.join(directory, "s1.v2")
  return {
    location: { directory, sessionId: "s1" },
    index: Path.join(container, "index", "offsets.jsonl"),
    segments: Path.join(container, "segments")
  }
})

export const thinking = (id: string, parentId: string | null, more: { readonly thinkingLevel?: string | null }) =>
  SessionEntry.make({ type: "thinking_level_change", id, parentId, timestamp: Sessions.timestamp, ...more })
