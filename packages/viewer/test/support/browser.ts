/** A headless Chromium, and pages that record errors and requests. */
import { Effect, type Scope } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Browser, type Page, chromium } from "playwright-core"
import * as Chromium from "@pi-sessions/testing/Chromium"

const built = Path.join(import.meta.dirname, "..", "..", "dist", "page")

/** Why browser tests cannot run on this machine; undefined if they can. */
export const missing = (): string | undefined => {
  if (Chromium.find() === undefined) {
    return "no Chromium on this machine (apt-get install chromium, or PI_SESSIONS_CHROMIUM=PATH)"
  }
  return Fs.existsSync(Path.join(built, "view.js"))
    ? undefined
    : "the page is not built (pnpm --filter @pi-sessions/viewer build)"
}

/** The built page. */
export const assets = () => ({
  script: Fs.readFileSync(Path.join(built, "view.js"), "utf8"),
  style: Fs.readFileSync(Path.join(built, "view.css"), "utf8")
})

let launched: Promise<Browser> | undefined

const launch = (): Promise<Browser> => {
  launched ??= chromium.launch({ executablePath: Chromium.find() ?? "", args: [...Chromium.ARGUMENTS] })
  return launched
}

/** Closes the browser that the tests of a file share. */
export const close = async (): Promise<void> => {
  await (await launched)?.close()
  launched = undefined
}

export interface Watched {
  readonly page: Page
  /** Errors, console messages, dialogs, popups and downloads: the page should cause none. */
  readonly events: Array<string>
  /** Every requested URL. */
  readonly requests: Array<string>
}

/** Opens a page with storage of its own. */
export const watched = (
  options: { readonly width?: number; readonly height?: number; readonly dark?: boolean } = {}
): Effect.Effect<Watched, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { dark = false, height = 800, width = 1280 } = options
    const page = yield* Effect.acquireRelease(
      Effect.promise(async () =>
        (await launch()).newPage({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" })
      ),
      (page) => Effect.promise(() => page.close())
    )
    page.setDefaultTimeout(60_000)
    const events: Array<string> = []
    const requests: Array<string> = []
    page.on("pageerror", (error) => events.push(`error: ${error.message}`))
    page.on("console", (message) => events.push(`console: ${message.type()}: ${message.text()}`))
    page.on("dialog", (dialog) => {
      events.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on("popup", (popup) => events.push(`popup: ${popup.url()}`))
    page.on("download", (download) => events.push(`download: ${download.url()}`))
    page.on("request", (request) => requests.push(request.url()))
    page.on("websocket", (socket) => requests.push(socket.url()))
    return { page, events, requests }
  })
