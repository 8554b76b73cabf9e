/**
 * The built program, for tests that need a process: exit statuses, signals, terminals, pipes, limits of memory. `pnpm test`
 * builds it first; before a single test file, run `pnpm build`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"

export const MAIN = Path.resolve(import.meta.dirname, "../../dist/main.js")

if (!Fs.existsSync(MAIN)) throw new Error(`${MAIN} is missing; run pnpm build`)
