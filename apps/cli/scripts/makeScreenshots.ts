/**
 * Makes the pictures in docs/screenshots from fixtures: the list, a conversation with its tree, a session beside its samples,
 * a dataset, each in light and dark.
 *
 *     pnpm --filter @pi-sessions/cli screenshots          (after a build)
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import * as process from "node:process"
import { type Page, chromium } from "playwright-core"
import { keyOf } from "@pi-sessions/viewer/SessionKey"
import * as Chromium from "@pi-sessions/testing/Chromium"

const root = Path.join(import.meta.dirname, "../../..")
const main = Path.join(root, "apps/cli/dist/main.js")
const sessions = Path.join(root, "fixtures/sessions")
const out = Path.join(root, "docs/screenshots")

const executablePath = Chromium.find()
if (executablePath === undefined) throw new Error("no Chromium on this machine")

const folder = mkdtempSync(Path.join(tmpdir(), "pi-sessions-screenshots-"))
const env = { ...process.env, XDG_STATE_HOME: Path.join(folder, "state"), PI_SESSIONS_CWD: root }
const dataset = Path.join(folder, "dataset-fixtures")
const marks = Path.join(folder, "marks.json")
writeFileSync(
  marks,
  JSON.stringify({
    kind: "pi-sessions/marks/1",
    sessions: {
      "01a1fb8b-2d32-747a-9b08-afb248288af4": { session: "accept" },
      "ffae836b-9420-4060-ac13-7745215f90ff": { session: "reject" }
    }
  })
)
execFileSync(process.execPath, [main, "extract", "--sessions", sessions, "--out", dataset], { env, stdio: "ignore" })
const server = spawn(process.execPath, [main, "view", dataset, "--sessions", sessions, "--marks", marks], {
  env,
  stdio: ["ignore", "pipe", "inherit"]
})
const url = await new Promise<string>((resolve) =>
  server.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()))
)
const keyed = (name: string): string => keyOf(Path.join(sessions, name))

/** Each screen: its address, a selector that shows that it is loaded, and the steps before the picture. */
const screens: ReadonlyArray<
  readonly [name: string, place: string, ready: string, act?: (page: Page) => Promise<void>]
> = [
  ["list", "#/sessions", "text=deacon"],
  [
    "session",
    `#/session/${keyed("project/branches.jsonl")}`,
    ".tree-row .what",
    async (page) => {
      await page.locator(".entry.assistant").first().click()
      await page.keyboard.press("e")
    }
  ],
  ["samples", `#/session/${keyed("project/branches.jsonl")}?view=samples`, ".made.target"],
  ["dataset", "#/dataset", ".columns-plot"]
]

mkdirSync(out, { recursive: true })
const browser = await chromium.launch({ executablePath, args: [...Chromium.ARGUMENTS] })
try {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [name, place, ready, act] of screens) {
      const page = await browser.newPage({ viewport: { width: 1120, height: 640 }, colorScheme })
      await page.goto(url + place)
      await page.waitForSelector(ready)
      await act?.(page)
      await page.waitForTimeout(300)
      const path = Path.join(out, `${name}-${colorScheme}.png`)
      await page.screenshot({ path })
      process.stdout.write(`${path}  ${Math.ceil(statSync(path).size / 1024)} KiB\n`)
      await page.close()
    }
  }
} finally {
  await browser.close()
  server.kill("SIGINT")
  rmSync(folder, { recursive: true, force: true })
}
