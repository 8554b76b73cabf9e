/** The threads of commands that turn many sessions into samples. */
import * as WorkerThreads from "@pi-sessions/extract/WorkerThreads"

/** Beside this program's own module, bundled or not. */
const ENTRY = import.meta.url.endsWith(".ts")
  ? new URL("../../extractWorker.ts", import.meta.url)
  : new URL("./extractWorker.js", import.meta.url)

/** So many; told by the size of the sessions where nobody says. */
export const layer = (threads?: number) => WorkerThreads.layer({ entry: ENTRY, threads })
