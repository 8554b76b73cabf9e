/**
 * Measures the doctor on an ordinary session and on extreme ones, compared with Node's readline over the same file. It
 * should take at most 20 times as long. Run by `pnpm bench`.
 */
import * as Files from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Bench from "@pi-sessions/testing/Bench"
import * as ExtremeSession from "@pi-sessions/testing/sessions/ExtremeSession"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"

const folder = Files.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))
const file = Path.join(folder, "session.jsonl")

/** Shapes of sessions, and the number of repetitions. */
const FAMILIES: ReadonlyArray<readonly [shape: string, n: number]> = [
  ["blank lines", 2_000_000],
  ["null lines", 1_000_000],
  ["damaged lines", 1_000_000],
  ["a long text", 6_000_000],
  ["many blocks in one message", 800_000],
  ["opened nested objects", 800_000],
  ["a chain", 200_000],
  ["children of one entry", 200_000],
  ["one id", 200_000],
  ["labels", 200_000],
  ["calls in one message, then their results", 100_000]
]

const measure = (title: string, bytes: number): void =>
  Bench.table(
    { title: `doctor: ${title}, ${(bytes / 1e6).toFixed(1)} MB`, bytes, runs: 3 },
    ["readline", "doctor"].map((which) => ({
      name: which,
      command: [process.execPath, Path.join(import.meta.dirname, "contenders/doctor.ts"), which, file],
      reports: true
    }))
  )

try {
  const { bytes } = await LargeSession.write(file, { entries: 23_000, seed: 1 })
  measure("an ordinary session", bytes)
  for (const [name, n] of FAMILIES) {
    measure(name, ExtremeSession.write(file, ExtremeSession.shape(name), n))
  }
} finally {
  Files.rmSync(folder, { recursive: true, force: true })
}
