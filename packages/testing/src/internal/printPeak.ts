/** Loaded into a program that Bench measures: says at its end how much memory it took at most. */
import { writeSync } from "node:fs"
import process from "node:process"
import { isMainThread } from "node:worker_threads"

if (isMainThread) process.on("exit", () => writeSync(2, `peak ${process.resourceUsage().maxRSS} kB\n`))
