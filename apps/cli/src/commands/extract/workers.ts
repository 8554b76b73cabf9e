/** The threads of commands that turn many sessions into samples. */
import * as WorkerThreads from "@pi-sessions/extract/parts/WorkerThreads"

/** Beside this program's own module, bundled or not. */
const ENTRY = import.meta.url.endsWith(".ts")
  ? new URL("../../extractWorker.ts", import.meta.url)
  : new URL("./extractWorker.js", import.meta.url)

/** Default: as many as the size of the sessions is worth. */
export const layer = (options: Pick<WorkerThreads.ThreadOptions, "threads" | "sessionSeconds"> = {}) =>
  WorkerThreads.layer({ entry: ENTRY, ...options })
