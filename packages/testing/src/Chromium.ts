/** Finds a Chromium on this machine for tests of the page. Downloads nothing. */
import { existsSync } from "node:fs"
import * as process from "node:process"

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium"
]

/** The path in PI_SESSIONS_CHROMIUM, else the first that exists. */
export const find = (): string | undefined => {
  const given = process.env["PI_SESSIONS_CHROMIUM"]
  return [...(given === undefined || given === "" ? [] : [given]), ...PLACES].find((path) => existsSync(path))
}

/** Containers lack the rights for Chromium's sandbox and have little shared memory. Tests open only their own pages. */
export const ARGUMENTS: ReadonlyArray<string> = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
