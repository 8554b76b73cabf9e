/** The page in a real browser: its functions, hostile transcripts, accessibility, and limits on what it draws. */
/// <reference lib="dom" />
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Path from "node:path"
import * as process from "node:process"
import * as Url from "node:url"
import { type Page } from "playwright-core"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import * as ViewFile from "../src/ViewFile.ts"
import { keyOf } from "../src/SessionKey.ts"
import { Viewer } from "../src/Viewer.ts"
import * as Browsers from "./support/browser.ts"
import * as hostile from "./support/hostile.ts"
import { fixtures, optionsOf, serve, services, writeSession } from "./support/viewing.ts"

const missing = Browsers.missing()
if (missing !== undefined) process.stdout.write(`browser tests of the page are skipped: ${missing}\n`)
afterAll(Browsers.close)

const sessions = Path.join(fixtures, "sessions")
const branches = Path.join(sessions, "project/branches.jsonl")
const deacon = Path.join(sessions, "gt/deacon-patrol.jsonl")

const opened = Effect.fnUntraced(function* (
  path: string,
  more: Parameters<typeof optionsOf>[1] & { readonly width?: number; readonly dark?: boolean } = {}
) {
  const { dark = false, width = 1280, ...options } = more
  const served = yield* serve(yield* optionsOf(path, options), Browsers.assets())
  const watched = yield* Browsers.watched({ width, dark })
  const go = (place: string) => Effect.promise(() => watched.page.goto(`${served.url}${place}`))
  return { ...served, ...watched, go }
})

const run = <A>(work: () => Promise<A>) => Effect.promise(work)

const texts = (page: Page, selector: string): Promise<Array<string>> => page.locator(selector).allInnerTexts()

/** Waits until the conversation is drawn; returns the ids of its entries. */
const shown = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.waitForFunction(
    () => document.querySelector(".talk .entry") !== null && document.querySelector(".talk .blank") === null
  )
  return texts(page, ".talk .entry .id")
}

/** Waits until the condition is true. */
const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + 30_000
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error("the condition is still false after 30 seconds")
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const only = (events: ReadonlyArray<string>): void => assert.deepStrictEqual(events, [])

describe.skipIf(missing !== undefined)("the page", () => {
  it.live("finds a session by name, and by its text", () =>
    Effect.gen(function* () {
      const { events, go, page } = yield* opened(sessions)
      yield* go("")
      yield* run(async () => {
        await page.waitForSelector("text=witness patrol")
        assert.strictEqual(await page.locator(".session").count(), 9)
        await page.keyboard.press("/")
        await page.keyboard.type("polecat")
        await page.waitForFunction(() => document.querySelectorAll(".session").length === 1)
        await page.fill("input[type=search]", "heartbeat")
        await page.keyboard.press("Enter")
        await page.waitForSelector(".hit mark")
        assert.match((await texts(page, ".hit mark"))[0] ?? "", /^heartbeat$/iu)
        await page.locator(".hit").first().click()
        await page.waitForSelector(".talk .entry.selected")
        assert.match(await page.locator(".talk .entry.selected").innerText(), /heartbeat/iu)
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("changes the branch by a click in the tree, by a key and by the list of branches", () =>
    Effect.gen(function* () {
      const { events, go, page } = yield* opened(branches, { begin: "session" })
      yield* go("")
      yield* run(async () => {
        const active = await shown(page)
        await page.waitForSelector(".tree-row .what")
        assert.strictEqual(await page.locator('[role="treeitem"][data-leaf="true"]').count(), 1)
        assert.strictEqual(await page.locator(".tree .rail circle.dot-leaf").count(), 1)
        assert.include(await page.locator(".tree").innerText(), "jest way")
        // This entry is on the other branch.
        await page.locator(".tree-row", { hasText: "jest is in." }).click()
        await page.waitForSelector(".talk .entry >> text=jest is in.")
        const other = await shown(page)
        assert.notDeepEqual(other, active)
        assert.strictEqual(other[0], active[0])
        await page.keyboard.press("]")
        await page.waitForSelector(".talk .entry >> text=vitest is in")
        assert.deepStrictEqual(await shown(page), active)
        // The browser's Back goes to the branch before.
        await page.goBack()
        await page.waitForSelector(".talk .entry >> text=jest is in.")
        await page.locator("label", { hasText: "branch" }).locator("select").selectOption({ index: 0 })
        await page.waitForSelector(".talk .entry >> text=vitest is in")
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("applies Pi's filters, and opens and closes entries", () =>
    Effect.gen(function* () {
      const { events, go, page } = yield* opened(deacon, { begin: "session" })
      yield* go("")
      yield* run(async () => {
        const whole = await shown(page)
        const filter = page.locator("label", { hasText: "show" }).locator("select")
        const kinds = async (): Promise<ReadonlyArray<string>> => [
          ...new Set(await texts(page, ".talk .entry header strong"))
        ]
        await filter.selectOption("user-only")
        await until(async () => (await kinds()).join() === "user")
        await filter.selectOption("no-tools")
        await until(async () => (await kinds()).includes("assistant"))
        assert.notInclude(await kinds(), "tool result")
        await filter.selectOption("all")
        await until(async () => (await kinds()).includes("model"))
        await filter.selectOption("default")
        await until(async () => !(await kinds()).includes("model"))
        assert.deepStrictEqual(await shown(page), whole)
        await page.locator(".talk").focus()
        assert.strictEqual(await page.locator(".inside").count(), 0)
        await page.keyboard.press("E")
        await page.waitForSelector(".inside")
        await page.keyboard.press("E")
        await page.waitForFunction(() => document.querySelectorAll(".inside").length === 0)
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await page.keyboard.press("e")
        await page.waitForSelector(".entry.selected .inside")
        assert.strictEqual(await page.locator(".inside").count(), await page.locator(".entry.selected .inside").count())
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("works in a file without a server: list, tree, branches, filters, search, samples, health", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const options = yield* optionsOf(sessions)
      const { html, left } = yield* ViewFile.make({ assets: Browsers.assets(), mostBytes: 1 << 30 }).pipe(
        Effect.provide(Viewer.layer(options))
      )
      assert.deepStrictEqual(left, [])
      const out = Path.join(folder, "out.html")
      Fs.writeFileSync(out, html)
      const { events, page, requests } = yield* Browsers.watched()
      yield* run(async () => {
        await page.goto(Url.pathToFileURL(out).href)
        await page.waitForSelector("text=witness patrol")
        assert.strictEqual(await page.locator(".session").count(), 9)
        assert.strictEqual(await page.locator("button.mark").count(), 0)
        await page.locator(".session a", { hasText: "Which test framework" }).click()
        await page.waitForSelector(".tree-row .what")
        await page.locator(".tree-row", { hasText: "jest is in." }).click()
        await page.waitForSelector(".talk .entry >> text=jest is in.")
        await page.keyboard.press("[")
        await page.waitForSelector(".talk .entry >> text=vitest is in")
        await page.locator("label", { hasText: "show" }).locator("select").selectOption("user-only")
        await page.waitForFunction(() => document.querySelector(".talk .entry.assistant") === null)
        await page.locator("label", { hasText: "show" }).locator("select").selectOption("default")
        await page.keyboard.press("/")
        await page.keyboard.type("270 packages")
        await page.keyboard.press("Enter")
        await page.locator(".hit").first().click()
        await page.waitForSelector(".talk .entry.selected >> text=270 packages")
        await page.locator(".tabs a", { hasText: "Samples" }).click()
        await page.waitForSelector(".made.target")
        await page.locator(".tabs a", { hasText: "Health" }).click()
        await page.waitForSelector("text=nothing is wrong with the session")
      })
      only(events)
      assert.strictEqual(requests.filter((one) => !one.startsWith("file:") && !one.startsWith("data:")).length, 0)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("shows samples beside the entries that they come from", () =>
    Effect.gen(function* () {
      const { events, go, page } = yield* opened(branches)
      yield* go(`#/session/${keyOf(branches)}?view=samples`)
      yield* run(async () => {
        await page.waitForSelector(".made.target")
        const targets = await texts(page, ".made.target")
        assert.include(targets.join("\n"), "vitest is in")
        assert.include(await page.locator(".samples").innerText(), "dropped: other branch message")
        assert.include((await texts(page, ".made.context"))[0] ?? "", "context: masked")
        // A click on an entry shows it in the conversation.
        await page.locator(".cell.entry button", { hasText: "assistant" }).first().click()
        await page.waitForSelector(".talk .entry.assistant.selected")
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("names the same role in both columns of the samples", () =>
    Effect.gen(function* () {
      const { events, go, page } = yield* opened(deacon)
      yield* go(`#/session/${keyOf(deacon)}?view=samples`)
      yield* run(async () => {
        await page.waitForSelector(".made.target")
        const pairs = await page.locator(".pair").evaluateAll((all) =>
          all.flatMap((pair) => {
            const [recorded, made] = [...pair.querySelectorAll(".cell")].map((cell) => cell.querySelector("strong"))
            return recorded && made ? [`${recorded.textContent} -> ${made.textContent}`] : []
          })
        )
        const same = ["user -> user", "assistant -> assistant", "tool result -> tool"]
        for (const speakers of same) assert.include(pairs, speakers)
        // Messages of extensions and summaries are user messages for the model.
        const others = pairs.filter((speakers) => !same.includes(speakers))
        assert.deepStrictEqual(
          others.filter(
            (speakers) => !/^(?:extension|compaction|branch summary|user's command) -> user$/.test(speakers)
          ),
          []
        )
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("marks entries and sessions by keys and buttons, and keeps the marks in the file", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const marksFile = Path.join(folder, "marks.json")
      const { events, go, page } = yield* opened(sessions, { marksFile })
      const marks = (): unknown => JSON.parse(Fs.readFileSync(marksFile, "utf8")).sessions
      yield* go("")
      yield* run(async () => {
        await page.waitForSelector(".session")
        await page.keyboard.press("j")
        await page.keyboard.press("x")
        await page.waitForSelector(".session.reject")
        const id = Object.keys(marks() as object)[0] ?? ""
        assert.deepStrictEqual(marks(), { [id]: { session: "reject" } })
        await page.keyboard.press("x")
        await page.waitForFunction(() => document.querySelector(".session.reject") === null)
        await page.goto(`${page.url().split("#")[0]}#/session/${keyOf(deacon)}`)
        await page.waitForSelector(".talk .entry.assistant")
        await page.locator(".talk .entry.assistant").first().click()
        await page.keyboard.press("a")
        await page.waitForSelector(".talk .entry.assistant.accept")
        const entry = await page.locator(".talk .entry.accept .id").innerText()
        await page.locator(".talk .entry.assistant").last().locator("button.reject").click()
        await page.waitForSelector(".talk .entry.assistant.reject")
        await page.reload()
        await page.waitForSelector(".talk .entry.assistant.accept")
        const [kept] = Object.values(marks() as { readonly [id: string]: { readonly entries: object } })
        assert.deepStrictEqual(
          Object.entries(kept?.entries ?? {}).find(([, mark]) => mark === "accept"),
          [entry, "accept"]
        )
        assert.strictEqual(Object.keys(kept?.entries ?? {}).length, 2)
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("lists the keys in the help, and closes the help by a key", () =>
    Effect.gen(function* () {
      const { events, go, page } = yield* opened(branches, { begin: "session" })
      yield* go("")
      yield* run(async () => {
        await shown(page)
        await page.keyboard.press("?")
        await page.waitForSelector("dialog[open]")
        const help = await page.locator("dialog").innerText()
        for (const word of ["next entry", "the next branch", "search this session", "open or close the entry"])
          assert.include(help, word)
        await page.keyboard.press("Escape")
        await page.waitForFunction(() => document.querySelector("dialog") === null)
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("shows colours of terminals, diffs and pictures", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const message = (id: string, parentId: string | null, message: object) => ({
        type: "message",
        id,
        parentId,
        timestamp: "2026-01-05T10:00:00.000Z",
        message
      })
      const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
      const file = writeSession(Path.join(folder, "one.jsonl"), [
        { type: "session", version: 3, id: "s", timestamp: "2026-01-05T10:00:00.000Z", cwd: "/" },
        message("a", null, {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image", mimeType: "image/png", data: pixel }
          ]
        }),
        message("b", "a", {
          role: "toolResult",
          toolCallId: "c",
          toolName: "bash",
          content: [{ type: "text", text: "\u001b[32mok\u001b[0m and \u001b[1;38;5;196mnot\u001b[0m" }]
        }),
        message("d", "b", {
          role: "toolResult",
          toolCallId: "e",
          toolName: "edit",
          content: [{ type: "text", text: "done" }],
          details: { diff: " 1 same\n-2 old\n+2 new" }
        })
      ])
      const { events, go, page } = yield* opened(file, { begin: "session" })
      yield* go("")
      yield* run(async () => {
        await shown(page)
        assert.strictEqual(await page.locator(".ansi-green").innerText(), "ok")
        assert.strictEqual(
          await page.locator(".ansi-bold").evaluate((span) => getComputedStyle(span).color),
          "rgb(255, 0, 0)"
        )
        assert.deepStrictEqual(await texts(page, ".diff .added"), ["+2 new\n"])
        assert.deepStrictEqual(await texts(page, ".diff .removed"), ["-2 old\n"])
        const picture = page.locator(".picture img")
        await picture.waitFor()
        assert.strictEqual(
          await picture.evaluate((image) => (image instanceof HTMLImageElement ? image.naturalWidth : 0)),
          1
        )
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("scrolls a long session to its end and back without blank rows", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = Path.join(folder, "long.jsonl")
      yield* run(() => LargeSession.write(file, { entries: 2000, seed: 3 }))
      const { events, go, page } = yield* opened(file, { begin: "session" })
      yield* go("")
      yield* run(async () => {
        await shown(page)
        await page.locator(".talk").focus()
        await page.keyboard.press("G")
        await page.waitForFunction(() => {
          const last = [...document.querySelectorAll(".talk .entry")].at(-1)
          const box = last?.getBoundingClientRect()
          const list = document.querySelector(".talk")?.getBoundingClientRect()
          return (
            last?.getAttribute("aria-posinset") === last?.getAttribute("aria-setsize") &&
            box !== undefined &&
            list !== undefined &&
            box.bottom <= list.bottom + 1
          )
        })
        await shown(page)
        for (let at = 0; at < 40; at++) {
          await page.mouse.move(900, 500)
          await page.mouse.wheel(0, -3000)
          await page.waitForTimeout(5)
        }
        await shown(page)
        // Rows touch each other, although their heights were guessed at first.
        await page.waitForFunction(() => {
          const boxes = [...document.querySelectorAll(".talk .row")].map((row) => row.getBoundingClientRect())
          return boxes.length > 3 && boxes.slice(1).every((box, at) => Math.abs(box.top - (boxes[at]?.bottom ?? 0)) < 1)
        })
        await page.keyboard.press("g")
        await page.waitForSelector('.talk .entry[aria-posinset="1"]')
        assert.strictEqual(await page.locator(".talk").evaluate((list) => list.scrollTop), 0)
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

/** Opens everything on all pages of a session, so that all of it is drawn; returns the text of the pages. */
const drawEverything = async (page: Page, url: string, key: string): Promise<string> => {
  const texts: Array<string> = []
  const take = async (): Promise<void> => {
    await page.waitForFunction(() => document.querySelector(".waiting, .talk .blank, .cell.blank") === null)
    texts.push(await page.locator("body").innerText())
  }
  await page.goto(url)
  await page.waitForSelector(".session .chip, .session .facts span")
  await take()
  await page.goto(`${url}#/session/${key}`)
  await page.waitForSelector(".talk .entry")
  await page.locator("label", { hasText: "show" }).locator("select").selectOption("all")
  await page.waitForSelector(".talk .entry.custom, .talk .entry.label, .talk .entry.name")
  await page.locator("label", { hasText: "every entry" }).locator("input").check()
  await page.waitForSelector(".tree-row .what")
  await page.locator("summary").click()
  await page.locator(".talk").focus()
  await page.keyboard.press("E")
  await page.waitForSelector(".inside")
  const entries = Number(await page.locator(".talk .entry").first().getAttribute("aria-setsize"))
  for (let at = 0; at < entries; at++) {
    await take()
    await page.keyboard.press("j")
  }
  for (const view of ["samples", "health"]) {
    await page.goto(`${url}#/session/${key}?view=${view}`)
    await page.waitForSelector(view === "samples" ? ".pair, .problem, .note" : "h2")
    await take()
  }
  await page.goto(`${url}#/sessions?search=${encodeURIComponent("window.ran")}`)
  await page.waitForSelector(".hit, .found .quiet")
  await take()
  return texts.join("\n")
}

const flags = (page: Page): Promise<unknown> =>
  page.evaluate(() => ({
    ran: "ran" in window ? window.ran : undefined,
    elements: document.querySelectorAll(
      "script[src], iframe, object, embed, base, link[href^=http], form[action^=http], a[href^=javascript], img:not([src^='data:image/png'])"
    ).length,
    prototype: Object.keys(Object.prototype)
  }))

describe.skipIf(missing !== undefined)("a transcript", () => {
  it.live("with markup and escape sequences is shown as text, served and in a file", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = writeSession(Path.join(folder, "hostile.jsonl"), hostile.lines())
      const options = { redaction: "off" } as const
      const { events, go, page, requests, url } = yield* opened(folder, options)
      yield* go("")
      const text = yield* run(() => drawEverything(page, url, keyOf(file)))
      assert.deepStrictEqual(yield* run(() => flags(page)), { ran: undefined, elements: 0, prototype: [] })
      only(events)
      for (const payload of [
        "<script>window.ran = 1; alert(1)</script>",
        '<img src=x onerror="window.ran = 3">',
        "javascript:window.ran=6"
      ])
        assert.include(text, payload)
      assert.include(text, "<U+202E>gnp.exe")
      assert.notMatch(text, /[\u202a-\u202e\u2066-\u2069\u200b]/u)
      assert.isAbove(requests.length, 20)
      for (const request of requests) assert.isTrue(request.startsWith(url) || request.startsWith("data:"), request)

      const viewed = yield* optionsOf(folder, options)
      const { html } = yield* ViewFile.make({ assets: Browsers.assets(), mostBytes: 1 << 30 }).pipe(
        Effect.provide(Viewer.layer(viewed))
      )
      const out = Path.join(folder, "out.html")
      Fs.writeFileSync(out, html)
      const inFile = yield* Browsers.watched()
      const address = Url.pathToFileURL(out).href
      yield* run(() => drawEverything(inFile.page, address, keyOf(file)))
      assert.deepStrictEqual(yield* run(() => flags(inFile.page)), { ran: undefined, elements: 0, prototype: [] })
      only(inFile.events)
      for (const request of inFile.requests)
        assert.isTrue(request.startsWith(address) || request.startsWith("data:"), request)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("could not send requests or make markup even if it ran: the policy forbids it", () =>
    Effect.gen(function* () {
      const { events, go, page, requests, url } = yield* opened(branches, { begin: "session" })
      yield* go("")
      yield* run(async () => {
        await shown(page)
        const tried = await page.evaluate(async () => {
          const results: Array<string> = []
          await fetch("http://127.0.0.1:9/").catch(() => results.push("fetch"))
          try {
            document.body.insertAdjacentHTML("beforeend", "<b>x</b>")
          } catch {
            results.push("markup")
          }
          const image = new Image()
          const failed = new Promise((resolve) => image.addEventListener("error", () => resolve("image")))
          image.src = "http://127.0.0.1:9/x.png"
          results.push(String(await failed))
          const script = document.createElement("script")
          try {
            script.text = "window.ran = 1"
            document.body.append(script)
          } catch {
            results.push("script")
          }
          return { results, ran: "ran" in window }
        })
        assert.deepStrictEqual(tried, { results: ["fetch", "markup", "image", "script"], ran: false })
      })
      assert.isTrue(events.some((event) => event.includes("Content Security Policy")))
      for (const request of requests.filter((one) => !one.includes("127.0.0.1:9/")))
        assert.isTrue(request.startsWith(url), request)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

const axe = Fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Serious and critical violations of the rules (default: all). `evaluate` runs axe although the policy forbids scripts. */
const violations = async (page: Page, rules?: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  return page.evaluate(async (rules) => {
    const options = { resultTypes: ["violations"], ...(rules === undefined ? {} : { runOnly: rules }) }
    const { violations } = await Reflect.get(globalThis, "axe").run(document, options)
    return violations
      .filter(({ impact }: { impact: string }) => impact === "serious" || impact === "critical")
      .map(
        ({ help, id, nodes }: { id: string; help: string; nodes: ReadonlyArray<{ html: string }> }) =>
          `${id}: ${help}: ${nodes
            .map(({ html }) => html.slice(0, 200))
            .slice(0, 3)
            .join(" | ")}`
      )
  }, rules)
}

/** Every view, with the element that appears when the view is drawn. */
const PLACES = [
  ["", ".session .facts"],
  ["#/sessions?search=heartbeat", ".hit"],
  [`#/session/${keyOf(branches)}`, ".talk .entry.assistant"],
  [`#/session/${keyOf(deacon)}?view=samples`, ".pair .entry"],
  [`#/session/${keyOf(deacon)}?view=health`, "h2"],
  ["#/dataset", ".funnel"],
  ["#/health", "tbody tr:nth-child(3)"]
] as const

const checkPlaces = Effect.fnUntraced(function* (
  page: Page,
  go: (place: string) => Effect.Effect<unknown>,
  rules?: ReadonlyArray<string>
) {
  for (const [place, drawn] of PLACES) {
    yield* go(place)
    yield* run(async () => {
      await page.waitForSelector(drawn)
      if (drawn.startsWith(".talk")) {
        // Phones do not show the tree at first.
        if ((await page.locator(".tree").count()) > 0) await page.waitForSelector(".tree-row .what")
        await page.locator(".talk").focus()
        await page.keyboard.press("E")
        await page.waitForSelector(".inside")
      }
      assert.deepStrictEqual(await violations(page, rules), [], place)
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.isAtMost(excess, 0, `${place}: wider than the screen`)
    })
  }
})

describe.skipIf(missing !== undefined)("axe", () => {
  const screens = [
    { name: "a light screen", width: 1280, dark: false },
    { name: "a phone", width: 390, dark: false },
    // Dark and light screens differ in colours only.
    { name: "a dark screen", width: 1280, dark: true, rules: ["color-contrast"] }
  ]
  it.live.each(screens)("finds nothing serious on $name", ({ dark, rules, width }) =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const dataset = yield* madeDataset(folder)
      const marksFile = Path.join(folder, "marks.json")
      const { events, go, page } = yield* opened(fixtures, { dark, width, dataset, marksFile })
      yield* checkPlaces(page, go, rules)
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

/** A small dataset: the report of extract, and lines. */
const madeDataset = Effect.fnUntraced(function* (folder: string) {
  const directory = Path.join(folder, "dataset")
  Fs.mkdirSync(directory)
  assert.include(Object.keys(FORMATS), "messages")
  const tokens = { input: 10, output: 5, cache_read: 0, cache_write: 0, total: 15 }
  const volume = {
    samples: 2,
    exact: 1,
    targets: 3,
    turns: 8,
    tool_calls: 2,
    tokens,
    cost: 0.01,
    redacted: { email: 1 },
    dropped: { image: 1 },
    diagnostics: 0
  }
  const report = {
    kind: "pi-sessions/extract-report/2",
    format: "messages",
    rigs: [],
    roles: [],
    sessions: { found: 3, kept: 1, dropped: { no_assistant_turn: 1, rejected_mark: 1 } },
    files: { not_a_session: 1, unreadable: 0 },
    families: { found: 3, largest: 1 },
    samples: { found: 3, kept: 2, dropped: { duplicate_targets: 1 } },
    is_redacted: true,
    skipped: [],
    total: volume,
    outputs: {
      train: "train.jsonl",
      files: [{ path: "train.jsonl", samples: 2, split: "train", file: "train", sha256: "0" }],
      report: "report.json"
    },
    rows: [
      { path: "a.jsonl", outcome: "kept", session_id: "a", role: "deacon", split: "train", volume },
      { path: "b.jsonl", outcome: "no_assistant_turn", session_id: "b", role: "deacon" }
    ]
  }
  Fs.writeFileSync(Path.join(directory, "report.json"), JSON.stringify(report))
  const line = (text: string) =>
    JSON.stringify({
      messages: [
        { role: "user", content: "x" },
        {
          role: "assistant",
          content: text,
          tool_calls: [{ type: "function", function: { name: "bash", arguments: {} } }]
        }
      ],
      metadata: { role: "deacon", model: "m", timestamp: "2026-01-05T10:00:00.000Z" }
    })
  Fs.writeFileSync(Path.join(directory, "train.jsonl"), `${line("one")}\n${line("two".repeat(500))}\n`)
  yield* Effect.void
  return directory
})

describe.skipIf(missing !== undefined)("a dataset", () => {
  it.live("is shown with the funnel of its report, and its lines", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const dataset = yield* madeDataset(folder)
      const { events, go, page } = yield* opened(sessions, { begin: "dataset", dataset })
      yield* go("")
      yield* run(async () => {
        await page.waitForSelector(".funnel")
        const funnel = (await page.locator(".funnel").innerText()).replace(/\s+/gu, " ")
        assert.include(
          funnel,
          "files 4 − 1 not a session sessions 3 − 1 no assistant turn − 1 rejected mark sessions kept 1 samples 3 − 1 duplicate targets samples kept 2"
        )
        assert.strictEqual(await page.locator(".columns-plot").count(), 2)
        assert.include(await page.locator(".sample-line").innerText(), '"content": "one"')
        await page.locator("button", { hasText: "next" }).click()
        await page.waitForFunction(() => document.querySelector(".sample-line")?.textContent?.includes("twotwo"))
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

/** A session with one branch of these messages. */
const talk = (messages: ReadonlyArray<object>): ReadonlyArray<object> => [
  { type: "session", version: 3, id: "s", timestamp: "2026-01-05T10:00:00.000Z", cwd: "/" },
  ...messages.map((message, at) => ({
    type: "message",
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: "2026-01-05T10:00:00.000Z",
    message
  }))
]

/** More than the page draws of these entries at once. */
const MOST_ELEMENTS = 25_000

/** Each entry would need more elements than `MOST_ELEMENTS` if it were drawn whole. */
const heavy = (): ReadonlyArray<object> => {
  const colours = "\u001b[31mx\u001b[32my".repeat(15_000)
  const called = Object.fromEntries(Array.from({ length: 6000 }, (_, at) => [`k${at}`, at]))
  return talk([
    { role: "user", content: colours },
    { role: "user", content: Array.from({ length: 10_000 }, (_, at) => ({ type: "text", text: `part ${at}` })) },
    {
      role: "assistant",
      provider: "p",
      model: "m",
      stopReason: "toolUse",
      content: [{ type: "toolCall", id: "c", name: "x", arguments: called }]
    },
    {
      role: "toolResult",
      toolCallId: "c",
      toolName: "x",
      content: [{ type: "text", text: "done" }],
      details: { diff: "+ line\n".repeat(15_000) }
    },
    { role: "user", content: "the end" }
  ])
}

describe.skipIf(missing !== undefined)("a key", () => {
  it.live("that activates the focused button or link does nothing else", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { events, go, page } = yield* opened(sessions, { marksFile: Path.join(folder, "marks.json") })
      yield* go("")
      yield* run(async () => {
        await page.waitForSelector(".session")
        await page.locator("button.mark.reject").nth(2).focus()
        await page.keyboard.press("Enter")
        await page.waitForSelector(".mark.reject[aria-pressed=true]", { timeout: 3000 })
        assert.strictEqual(await page.locator(".mark.reject").nth(2).getAttribute("aria-pressed"), "true")
        await page.locator(".session a").nth(3).focus()
        const there = await page.locator(".session a").nth(3).getAttribute("href")
        await page.keyboard.press("Enter")
        await page.waitForSelector(".session-view")
        assert.strictEqual(new URL(page.url()).hash, there)
        await page.keyboard.press("g")
        await page.keyboard.press("l")
        await page.waitForSelector(".session")
        await page.locator("nav a", { hasText: "Health" }).focus()
        await page.keyboard.press("Enter")
        await page.waitForSelector("h1 >> text=Health")
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe.skipIf(missing !== undefined)("an entry", () => {
  it.live("of any size is drawn in pieces, served and in a file", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = writeSession(Path.join(folder, "one.jsonl"), heavy())
      const { events, go, page } = yield* opened(file, { redaction: "off", begin: "session" })
      const viewed = yield* optionsOf(file, { redaction: "off", begin: "session" })
      const { html } = yield* ViewFile.make({ assets: Browsers.assets(), mostBytes: 1 << 30 }).pipe(
        Effect.provide(Viewer.layer(viewed))
      )
      const out = Path.join(folder, "out.html")
      Fs.writeFileSync(out, html)
      const inFile = yield* Browsers.watched()
      const most = async (page: Page, place: string): Promise<number> => {
        await shown(page)
        await page.keyboard.press("E")
        let most = 0
        for (let at = 0; at < 5; at++) {
          await page.keyboard.press("j")
          await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20))))
          most = Math.max(most, await page.evaluate(() => document.querySelectorAll("*").length))
        }
        assert.include(await page.locator(".talk").innerText(), "the end", place)
        await page.keyboard.press("2")
        await page.waitForSelector(".pair .entry")
        return Math.max(most, await page.evaluate(() => document.querySelectorAll("*").length))
      }
      yield* go("")
      assert.isBelow(yield* run(() => most(page, "served")), MOST_ELEMENTS)
      yield* run(() => inFile.page.goto(Url.pathToFileURL(out).href))
      assert.isBelow(yield* run(() => most(inFile.page, "in a file")), MOST_ELEMENTS)
      // A click shows more.
      yield* run(async () => {
        await inFile.page.keyboard.press("1")
        await shown(inFile.page)
        await inFile.page.keyboard.press("g")
        await inFile.page.waitForSelector(".entry.selected .more")
        const before = (await inFile.page.locator("#entry-0").innerText()).length
        await inFile.page.locator("#entry-0 .more").click()
        await until(async () => (await inFile.page.locator("#entry-0").innerText()).length > before)
      })
      only(events)
      only(inFile.events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("cannot set classes of its row in the tree", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeSession(
        Path.join(folder, "one.jsonl"),
        talk([
          { role: "user", content: "a" },
          { role: "x said selected top", content: "b" },
          { role: "user", content: "c" }
        ])
      )
      const { events, go, page } = yield* opened(Path.join(folder, "one.jsonl"), { begin: "session" })
      yield* go("")
      yield* run(async () => {
        await page.waitForSelector(".tree-row .what")
        await page.locator("label", { hasText: "every entry" }).locator("input").check()
        await page.waitForFunction(() => document.querySelectorAll(".tree-row").length === 3)
        assert.strictEqual(await page.locator(".tree-row.said, .tree-row.top").count(), 0)
      })
      only(events)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("a self-contained file", () => {
  it.live("has only the marks of its own sessions", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const marksFile = Path.join(folder, "marks.json")
      const options = yield* optionsOf(branches, { marksFile })
      const id = options.sessions[0]?.id ?? ""
      const other = "99999999-8888-4777-8666-555555555555"
      const marks = {
        [id]: { session: "accept", entries: { [`mine-${id}`]: "reject" } },
        [other]: { session: "reject", entries: { "not-yours": "reject" } }
      }
      Fs.writeFileSync(marksFile, JSON.stringify({ kind: "pi-sessions/marks/1", sessions: marks }))
      const { html } = yield* ViewFile.make({ assets: { script: "0", style: "p{}" }, mostBytes: 1 << 30 }).pipe(
        Effect.provide(Viewer.layer(options))
      )
      assert.include(html, `"${id}/mine-${id}":"reject"`)
      assert.notInclude(html, other)
      assert.notInclude(html, "not-yours")
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
