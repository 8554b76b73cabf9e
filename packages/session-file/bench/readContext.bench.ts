/** Reading a long session and building its context: this library beside the real Pis. `pnpm bench`. */
import * as FileSystem from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"

const entries = Number(process.env["PI_SESSIONS_BENCH_ENTRIES"] ?? 100_000)
const contender = Path.join(import.meta.dirname, "contenders/readContext.ts")
const dir = FileSystem.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))

try {
  for (const compactEvery of [2000, undefined]) {
    const file = Path.join(dir, `${compactEvery ?? "whole"}.jsonl`)
    const { bytes } = await LargeSession.write(file, {
      entries,
      seed: 1,
      ...(compactEvery === undefined ? {} : { compactEvery })
    })
    const kind =
      compactEvery === undefined ? "never compacted: every message is context" : `compacted every ${compactEvery}`
    const reading = (name: string, which: string): Bench.Contender => ({
      name,
      command: [process.execPath, "--expose-gc", contender, which, file],
      reports: true
    })
    Bench.table({ title: `read + context, ${entries} entries, ${(bytes / 1e6).toFixed(0)} MB, ${kind}`, bytes }, [
      reading("Pi 1.5.2", "1.5"),
      reading("Pi 0.78.0", "0.78"),
      reading("pi-sessions", "ours")
    ])
  }
} finally {
  FileSystem.rmSync(dir, { recursive: true })
}
