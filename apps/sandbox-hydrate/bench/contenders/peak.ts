/** Runs the bundle on a thread, `BUNDLE THREAD TARGET`, and reports the time and the peak memory of its whole process. */
import { spawnSync } from "node:child_process"
import * as FileSystem from "node:fs"
import { performance } from "node:perf_hooks"
import { type Report } from "@pi-sessions/testing/Bench"

const [bundle = "", thread = "", target = ""] = process.argv.slice(2)
FileSystem.rmSync(target, { force: true })
const printPeak = 'process.on("exit", () => process.stderr.write(`\\npeak ${process.resourceUsage().maxRSS}`))'
const hook = `data:text/javascript,${encodeURIComponent(printPeak)}`
const start = performance.now()
const child = spawnSync(process.execPath, ["--import", hook, bundle, "--file", thread, "--out", target], {
  encoding: "utf8"
})
const ms = performance.now() - start
if (child.status !== 0) throw new Error(child.stderr)
const mb = (Number(/peak (\d+)$/.exec(child.stderr)?.[1]) * 1024) / 1e6
process.stdout.write(`${JSON.stringify({ ms, mb } satisfies Report)}\n`)
