/**
 * Session Store V2 compared: resuming with the real Pi, appending with a bare write and fsync, verifying with hashing the
 * same bytes. Run `pnpm bench`. PI_SESSIONS_BENCH_ENTRIES limits the largest store. Default: 1,000,000 entries.
 */
import { execFileSync } from "node:child_process"
import * as Files from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Bench from "@pi-sessions/testing/Bench"

const largest = Number(process.env["PI_SESSIONS_BENCH_ENTRIES"] ?? 1_000_000)
const directory = Files.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))
const contender = (name: string) => Path.join(import.meta.dirname, "contenders", `${name}.ts`)
const program = (name: string, which: string, file: string, ...args: ReadonlyArray<string>): Bench.Contender => ({
  name,
  command: [process.execPath, "--expose-gc", contender(file), which, ...args],
  reports: true
})

interface Prepared {
  readonly file: string
  readonly bytes: number
  readonly container: string
  readonly migrateMs: number
}

const sizeOf = (at: string): number =>
  Files.statSync(at).isDirectory()
    ? Files.readdirSync(at).reduce((sum, name) => sum + sizeOf(Path.join(at, name)), 0)
    : Files.statSync(at).size

try {
  const prepared = new Map<number, Prepared>()
  for (const entries of [10_000, 100_000, 1_000_000]) {
    if (entries > largest) continue
    const out = execFileSync(process.execPath, [contender("prepare"), String(entries), directory], { encoding: "utf8" })
    const store: Prepared = JSON.parse(out)
    prepared.set(entries, store)
    const ratio = sizeOf(store.container) / store.bytes
    const speed = store.bytes / 1e6 / (store.migrateMs / 1e3)
    process.stdout.write(
      `\n${entries} entries, ${(store.bytes / 1e6).toFixed(0)} MB: migrated at ${speed.toFixed(0)} MB/s; ${ratio.toFixed(2)} bytes on disk per byte of the session\n`
    )
  }

  const resume = [...prepared].flatMap(([entries, { file, container }]) => [
    program(`store, ${entries} entries`, "store", "resume", container),
    // Pi cannot open a file of more than 512 MB, the longest string of V8.
    ...(entries > 100_000 ? [] : [program(`Pi 1.5.2, ${entries} entries`, "1.5", "resume", file)])
  ])
  Bench.table({ title: "resume: open, last 256 entries, context (in process, warm)", runs: 3 }, resume)

  for (const [group, rounds] of [
    [1, 500],
    [64, 100]
  ] as const) {
    const args = [String(group), String(rounds), directory]
    Bench.table({ title: `append: ${rounds} groups of ${group} entries of 1.3 KB, one sync each` }, [
      program("write + fsync", "bare", "append", ...args),
      program("store", "store", "append", ...args)
    ])
  }

  const store = prepared.get(100_000) ?? prepared.get(10_000)
  if (store !== undefined) {
    const bytes = sizeOf(Path.join(store.container, "segments"))
    Bench.table({ title: "verify: every frame, link, parent and index row", bytes }, [
      program("SHA-256 of the segments", "hash", "verify", store.container),
      program("verify", "store", "verify", store.container)
    ])
  }
} finally {
  Files.rmSync(directory, { recursive: true })
}
