/** From process start to file written, for a thread of 1 MB, beside an Effect program that does nothing. `pnpm bench`. */
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { rolldown } from "rolldown"
import * as Bench from "@pi-sessions/testing/Bench"

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
} finally {
  FileSystem.rmSync(dir, { recursive: true })
}
