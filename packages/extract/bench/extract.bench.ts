/**
 * Training data beside a straightforward Python script of the same mapping, and how memory goes with the number of
 * sessions. `pnpm bench`; PI_SESSIONS_BENCH_MB sets how many megabytes.
 */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as process from "node:process"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeSession from "@pi-sessions/testing/LargeSession"

const megabytes = Number(process.env["PI_SESSIONS_BENCH_MB"] || 500)
const contenders = Path.join(import.meta.dirname, "contenders")
const root = Fs.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))

/** Sessions of about 1.3 MB, each with an id and a time of its own; gives their bytes. */
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

const ours = (name: string, near: "near" | "exact", folder: string): Bench.Contender => ({
  name,
  command: [
    process.execPath,
    "--expose-gc",
    Path.join(contenders, "extract.ts"),
    "messages",
    near,
    folder,
    Path.join(root, `out-${near}`)
  ],
  reports: true
})

try {
  const folder = Path.join(root, "sessions")
  const bytes = await generate(folder, megabytes * 1e6)
  const python = ["python3", Path.join(contenders, "messages.py"), folder, Path.join(root, "out-python")] as const
  const hasPython = spawnSync("python3", ["--version"]).status === 0
  if (!hasPython) process.stdout.write("no python3 here: the script is left out\n")
  Bench.table({ title: `messages, ${(bytes / 1e6).toFixed(0)} MB of sessions, not redacted`, bytes, runs: 3 }, [
    ...(hasPython ? [{ name: "Python script (whole process)", command: python }] : []),
    ours("ours, exact duplicates only", "exact", folder),
    ours("ours, near-duplicates too", "near", folder)
  ])
  const small = Path.join(root, "small")
  const smallBytes = await generate(small, (megabytes / 10) * 1e6)
  Bench.table({ title: `memory with a tenth of it, ${(smallBytes / 1e6).toFixed(0)} MB`, bytes: smallBytes, runs: 3 }, [
    ours("ours, exact duplicates only", "exact", small)
  ])
} finally {
  Fs.rmSync(root, { recursive: true })
}
