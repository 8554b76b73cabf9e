/**
 * Time from process start to file written, for a thread of 1 MB, beside an Effect program that does nothing; and the peak
 * memory for a long thread. `pnpm bench`.
 */
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { rolldown } from "rolldown"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeThread from "../../../packages/reconstruction/bench/largeThread.ts"

const app = Path.resolve(import.meta.dirname, "..")
const dir = FileSystem.mkdtempSync(Path.join(app, "dist/.bench-"))
try {
  const empty = Path.join(dir, "empty.js")
  const bundle = await rolldown({ input: Path.join(import.meta.dirname, "contenders/empty.ts"), platform: "node" })
  await bundle.write({ file: empty, format: "esm" })
  const thread = Path.join(dir, "thread.jsonl")
  const lines: Array<string> = []
  for (let n = 0; n < 1000; n++) {
    const type = n % 2 === 0 ? "chat" : "pi.assistant"
    const text = `turn ${n} `.repeat(100)
    const payload = type === "chat" ? { role: "user", text } : { content: [{ type: "text", text }], stopReason: "stop" }
    lines.push(JSON.stringify({ id: `t:${n}`, threadId: "t", type, createdAt: "2026-05-31T10:00:00.000Z", payload }))
  }
  FileSystem.writeFileSync(thread, `${lines.join("\n")}\n`)
  const hydrate = Path.join(app, "dist/sandbox-hydrate.js")
  const target = Path.join(dir, "s.jsonl")
  const size = (FileSystem.statSync(hydrate).size / 1e6).toFixed(2)
  Bench.table(
    {
      title: `sandbox-hydrate (bundle of ${size} MB) from start to file written, thread of ${(FileSystem.statSync(thread).size / 1e6).toFixed(1)} MB`,
      runs: 21
    },
    [
      { name: "empty Effect program", command: [process.execPath, empty] },
      {
        name: "sandbox-hydrate",
        command: [
          "sh",
          "-c",
          `rm -f "${target}"; exec "${process.execPath}" "${hydrate}" --file "${thread}" --out "${target}"`
        ]
      }
    ]
  )

  const peak = Path.join(import.meta.dirname, "contenders/peak.ts")
  for (const raw of [false, true]) {
    const long = Path.join(dir, `long-${raw}.jsonl`)
    const entries = Number(process.env["PI_SESSIONS_BENCH_ENTRIES"] ?? 100_000)
    const written = await LargeThread.write(long, { entries, chunks: 0.8, raw })
    const how = raw ? "byte for byte" : "by meaning"
    const title = `sandbox-hydrate ${how}, ${written.entries} entries, 80 % chunks, ${(written.bytes / 1e6).toFixed(0)} MB: whole process`
    Bench.table({ title, bytes: written.bytes, runs: 3 }, [
      { name: "sandbox-hydrate", command: [process.execPath, peak, hydrate, long, target], reports: true }
    ])
  }
} finally {
  FileSystem.rmSync(dir, { recursive: true })
}
