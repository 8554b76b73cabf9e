/** The worker threads of commands that turn many sessions into samples. */
import * as WorkerThreads from "@pi-sessions/extract/workers/WorkerThreads"

/** The module of a worker thread, in the sources and in the bundle. */
const ENTRY = import.meta.url.endsWith(".ts")
  ? new URL("../../extractWorker.ts", import.meta.url)
  : new URL("./extractWorker.js", import.meta.url)

/** Default: chosen by the size of the sessions. */
export const layer = (options: Pick<WorkerThreads.ThreadOptions, "threads" | "sessionSeconds"> = {}) =>
  WorkerThreads.layer({ entry: ENTRY, ...options })
