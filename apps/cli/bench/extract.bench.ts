/**
 * Times `extract` as a process: compared with a simple Python script of the same mapping, with and without redaction and
 * near-duplicates, in one thread and in two, a second run without changes, and a tenth of the data.
 *
 *     node bench/extract.bench.ts      (after a build; PI_SESSIONS_BENCH_MB sets how many megabytes)
 *
 * The sizes of lines are those of real sessions: most are short, most of the bytes are in long tool results.
 */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as process from "node:process"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"

const megabytes = Number(process.env["PI_SESSIONS_BENCH_MB"] || 500)
const root = Fs.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))
// The state of a run is kept in the bench's own folder.
process.env["XDG_STATE_HOME"] = Path.join(root, "state")

/** Writes sessions of about 1.3 MB with unique ids and times; gives their bytes. */
const generate = async (folder: string, bytes: number): Promise<number> => {
  Fs.mkdirSync(folder, { recursive: true })
  let written = 0
  for (let n = 0; written < bytes; n++) {
    const file = Path.join(folder, `${String(n).padStart(4, "0")}.jsonl`)
    await LargeSession.write(file, { entries: 200, seed: n + 1, meanBytes: 6500 })
    const text = Fs.readFileSync(file, "utf8")
    const end = text.indexOf("\n")
    const timestamp = new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString()
    const header = JSON.stringify({ ...JSON.parse(text.slice(0, end)), id: `bench-${n}`, timestamp })
    Fs.writeFileSync(file, header + text.slice(end))
    written += Fs.statSync(file).size
  }
  return written
}

const MAIN = Path.resolve(import.meta.dirname, "../dist/main.js")
const PLAIN = ["--no-redact", "--include-near-duplicates"]

/** A run into an empty directory; with `isAgain`, into the directory of the run before. */
const ours = (name: string, folder: string, flags: ReadonlyArray<string>, isAgain = false): Bench.Contender => {
  const out = Path.join(root, "out", name)
  return {
    name,
    command: [process.execPath, MAIN, "extract", "--sessions", folder, "--out", out, ...flags],
    peaks: true,
    prepare: () => {
      if (!isAgain) Fs.rmSync(out, { recursive: true, force: true })
    }
  }
}

try {
  const folder = Path.join(root, "sessions")
  const bytes = await generate(folder, megabytes * 1e6)
  const small = Path.join(root, "small")
  const smallBytes = await generate(small, (megabytes / 10) * 1e6)
  const script = Path.resolve(import.meta.dirname, "../../../packages/extract/bench/contenders/messages.py")
  const hasPython = spawnSync("python3", ["--version"]).status === 0
  if (!hasPython) process.stdout.write("no python3: the script is left out\n")
  const one = ["--workers", "1", "--fresh"]
  Bench.table({ title: `messages of ${(bytes / 1e6).toFixed(0)} MB of sessions`, bytes, runs: 3 }, [
    ...(hasPython
      ? [{ name: "Python script", command: ["python3", script, folder, Path.join(root, "out-python")] as const }]
      : []),
    ours("plain", folder, [...PLAIN, ...one]),
    ours("plain, two workers", folder, [...PLAIN, "--workers", "2", "--fresh"]),
    ours("redacted", folder, ["--include-near-duplicates", ...one]),
    ours("redacted, near-duplicates too", folder, one),
    ours("redacted, near-duplicates too, two workers", folder, ["--workers", "2", "--fresh"])
  ])
  Bench.table({ title: `a tenth of it, ${(smallBytes / 1e6).toFixed(0)} MB`, bytes: smallBytes, runs: 3 }, [
    ours("plain ", small, [...PLAIN, ...one]),
    ours("redacted, near-duplicates too ", small, one)
  ])
  const again = ours("nothing changed", folder, ["--workers", "1"], true)
  spawnSync(again.command[0], again.command.slice(1))
  Bench.table({ title: "again, with nothing changed", bytes, runs: 3 }, [ours("the first time", folder, one), again])
} finally {
  Fs.rmSync(root, { recursive: true })
}
