/**
 * Hydrates a long thread, most of it chunks, from file to file, beside `JSON.parse` over the same lines. Each row is its
 * own process; its time is without start-up, its peak memory is of the whole process. `pnpm bench`.
 */
import * as FileSystem from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeThread from "./largeThread.ts"

const wanted = Number(process.env["PI_SESSIONS_BENCH_ENTRIES"] ?? 100_000)
const contender = Path.join(import.meta.dirname, "contenders/hydrate.ts")
const dir = FileSystem.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))

try {
  for (const raw of [false, true]) {
    const thread = Path.join(dir, `${raw}.jsonl`)
    const { bytes, entries } = await LargeThread.write(thread, { entries: wanted, chunks: 0.8, raw })
    const row = (name: string, which: string, rounds: number): Bench.Contender => ({
      name,
      command: [process.execPath, contender, which, String(rounds), thread, Path.join(dir, "session.jsonl")],
      reports: true
    })
    const how = raw ? "with raw lines: byte for byte" : "by meaning"
    const title = (times: string): string =>
      `hydrate ${how}, ${entries} entries, 80 % chunks, ${(bytes / 1e6).toFixed(0)} MB, ${times}`
    Bench.table({ title: title("once"), bytes, runs: 3 }, [
      row("JSON.parse of each line", "parse", 1),
      row("hydrate", "hydrate", 1)
    ])
    if (raw) continue
    Bench.table({ title: title("the third time in one process"), bytes, runs: 3 }, [
      row("JSON.parse of each line", "parse", 3),
      row("hydrate", "hydrate", 3)
    ])
  }
} finally {
  FileSystem.rmSync(dir, { recursive: true })
}
