/** A Chromium that is on this machine, for tests that drive the page; none is ever downloaded. */
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

/** Its path: what PI_SESSIONS_CHROMIUM says, else the first that is there. */
export const find = (): string | undefined => {
  const told = process.env["PI_SESSIONS_CHROMIUM"]
  return [...(told === undefined || told === "" ? [] : [told]), ...PLACES].find((path) => existsSync(path))
}

/** Containers have neither the rights for its sandbox nor much shared memory; what is opened in it is ours. */
export const ARGUMENTS: ReadonlyArray<string> = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
