/** Reading a session to its envelopes, beside `JSON.parse` over lines and `cat`. `pnpm bench`. */
import * as FileSystem from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"

const entries = Number(process.env["PI_SESSIONS_BENCH_ENTRIES"] ?? 100_000)
const contender = Path.join(import.meta.dirname, "contenders/envelopes.ts")
const dir = FileSystem.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))

try {
  for (const meanBytes of [1300, 7000]) {
    const file = Path.join(dir, `${meanBytes}.jsonl`)
    const count = Math.round((entries * 1300) / meanBytes)
    const { bytes } = await LargeSession.write(file, { entries: count, seed: 1, meanBytes })
    const reading = (name: string, which: string): Bench.Contender => ({
      name,
      command: [process.execPath, "--expose-gc", contender, which, file],
      reports: true
    })
    Bench.table({ title: `read to envelopes, ${count} entries, ${(bytes / 1e6).toFixed(0)} MB`, bytes }, [
      reading("JSON.parse, reused buffer", "parse"),
      reading("pi-sessions, streamed", "stream"),
      reading("pi-sessions, whole session", "whole"),
      { name: "cat (whole process)", command: ["sh", "-c", `cat '${file}' > /dev/null`] }
    ])
  }
} finally {
  FileSystem.rmSync(dir, { recursive: true })
}
