/**
 * Measures the listing of many sessions with and without the index, compared with loops that only read. Run by `pnpm
 * bench`. PI_SESSIONS_BENCH_SESSIONS: number of sessions.
 */
import { execFileSync } from "node:child_process"
import * as Files from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Bench from "@pi-sessions/testing/Bench"

const count = Number(process.env["PI_SESSIONS_BENCH_SESSIONS"] ?? 10_000)
const folder = Files.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))
const directory = Path.join(folder, "sessions")
const contender = (name: string, which: string, warm: boolean): Bench.Contender => ({
  name,
  command: [
    process.execPath,
    Path.join(import.meta.dirname, "contenders/list.ts"),
    which,
    directory,
    warm ? "warm" : "cold"
  ],
  reports: true
})

try {
  const prepared = execFileSync(
    process.execPath,
    [Path.join(import.meta.dirname, "prepare.ts"), directory, String(count)],
    { encoding: "utf8" }
  )
  const { ms, written }: { readonly ms: number; readonly written: number } = JSON.parse(prepared)
  process.stdout.write(`\nindex refresh: ${written} sessions read and written in ${Math.round(ms)} ms\n`)
  for (const warm of [true, false]) {
    const how = warm ? "warm: the median of seven in one process" : "cold: the first work of a process"
    Bench.table({ title: `header columns of ${count} sessions, ${how}` }, [
      contender("loop: open, read 512 bytes, close; names known before", "loop", warm),
      contender("the same, and finding the names (readdir, recursive)", "plain", warm),
      contender("catalog, no index", "headers", warm),
      contender("catalog, with the index", "index", warm),
      ...(warm
        ? []
        : [
            contender("loop with promises, and finding the names", "later", warm),
            contender("catalog on Effect's FileSystem, no index", "portable", warm)
          ])
    ])
  }
} finally {
  Files.rmSync(folder, { recursive: true, force: true })
}
