/** Times the start of the built CLI, an empty Effect CLI and plain Node. `pnpm bench`. */
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { rolldown } from "rolldown"
import * as Bench from "@pi-sessions/testing/Bench"

const app = Path.resolve(import.meta.dirname, "..")
const dir = FileSystem.mkdtempSync(Path.join(app, "dist/.bench-"))
try {
  const empty = Path.join(dir, "empty.js")
  const bundle = await rolldown({ input: Path.join(import.meta.dirname, "contenders/empty.ts"), platform: "node" })
  await bundle.write({ file: empty, format: "esm", sourcemap: true })
  const node = process.execPath
  Bench.table({ title: "start-up: --help, whole process", runs: 21, baseline: "empty Effect CLI" }, [
    { name: "node -e 0", command: [node, "-e", "0"] },
    { name: "empty Effect CLI", command: [node, empty, "--help"] },
    { name: "pi-sessions", command: [node, Path.join(app, "dist/main.js"), "--help"] },
    { name: "pi-sessions hydrate", command: [node, Path.join(app, "dist/main.js"), "hydrate", "--help"] }
  ])
} finally {
  FileSystem.rmSync(dir, { recursive: true })
}
