/// <reference lib="dom" />
/**
 * Shows a session of 100,000 entries (110 MB) in a real browser: first paint, scrolling, memory of the server. Targets: first
 * paint under 1.5 s, no blank rows after scrolling, under 300 MB.
 *
 *     node bench/view.bench.ts          (after a build; PI_SESSIONS_BENCH_ENTRIES for another size)
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import * as process from "node:process"
import { type Page, chromium } from "playwright-core"
import * as Chromium from "@pi-sessions/testing/Chromium"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"

const ENTRIES = Number(process.env["PI_SESSIONS_BENCH_ENTRIES"] ?? 100_000)
const MAIN = Path.join(import.meta.dirname, "../dist/main.js")

const say = (name: string, value: string): void => {
  process.stdout.write(`${name.padEnd(44)}${value}\n`)
}

/** Peak memory of a process in RAM, in MB. */
const peakMb = (pid: number): number => {
  const [, kb = "0"] = /VmHWM:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Number(kb) / 1024
}

const started = async (file: string, state: string) => {
  const server = spawn(process.execPath, [MAIN, "view", file, "--marks", Path.join(state, "marks.json")], {
    env: { ...process.env, XDG_STATE_HOME: state },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const url = await new Promise<string>((resolve, reject) => {
    server.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()))
    server.once("exit", () => reject(new Error("the server ended")))
  })
  return { server, url }
}

/** Visible rows that are still blank. */
const blanks = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const list = document.querySelector(".talk")
    if (list === null) return -1
    const { bottom, top } = list.getBoundingClientRect()
    return [...list.querySelectorAll(".row")].filter((row) => {
      const box = row.getBoundingClientRect()
      return box.bottom > top && box.top < bottom && row.querySelector(".blank") !== null
    }).length
  })

const settled = async (page: Page): Promise<number> => {
  const from = performance.now()
  while ((await blanks(page)) !== 0) {
    if (performance.now() - from > 10_000) throw new Error("rows stay blank")
    await page.waitForTimeout(5)
  }
  return performance.now() - from
}

/** Scrolls the page for some seconds: the longest frame, and the share of frames above 50 ms. */
const wheel = async (page: Page, seconds: number) => {
  await page.mouse.move(900, 500)
  await page.evaluate(() => {
    const frames: Array<number> = []
    let last = performance.now()
    const next = (): void => {
      const now = performance.now()
      frames.push(now - last)
      last = now
      requestAnimationFrame(next)
    }
    requestAnimationFrame(next)
    Reflect.set(globalThis, "measured", frames)
  })
  let blank = 0
  let looks = 0
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) {
    await page.mouse.wheel(0, 400)
    await page.waitForTimeout(16)
    if ((await blanks(page)) > 0) blank++
    looks++
  }
  const frames: Array<number> = await page.evaluate(() => Reflect.get(globalThis, "measured"))
  frames.sort((a, b) => a - b)
  return {
    median: frames[Math.floor(frames.length / 2)] ?? 0,
    p95: frames[Math.floor(frames.length * 0.95)] ?? 0,
    blank: `${blank} of ${looks} looks`
  }
}

const folder = mkdtempSync(Path.join(tmpdir(), "pi-sessions-view-bench-"))
const executable = Chromium.find()
if (executable === undefined) {
  process.stdout.write("view: no Chromium here, nothing measured\n")
  process.exit(0)
}
const file = Path.join(folder, "large.jsonl")
await LargeSession.write(file, { entries: ENTRIES, seed: 1, meanBytes: 1050, compactEvery: 20_000 })
say("session", `${ENTRIES.toLocaleString("en-US")} entries, ${(statSync(file).size / 1e6).toFixed(0)} MB`)
const { server, url } = await started(file, folder)
const pid = server.pid ?? 0
const browser = await chromium.launch({ executablePath: executable, args: [...Chromium.ARGUMENTS] })
try {
  say("server before the session is opened", `${peakMb(pid).toFixed(0)} MB`)
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  const from = performance.now()
  await page.goto(url)
  await page.waitForSelector(".talk .entry:not(.blank)")
  say("first entries of the conversation shown", `${(performance.now() - from).toFixed(0)} ms`)
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0)
  say("first contentful paint", `${paint.toFixed(0)} ms`)
  await page.waitForSelector(".tree-row .what")
  say("tree shown", `${(performance.now() - from).toFixed(0)} ms`)
  say("server's memory then, at the most", `${peakMb(pid).toFixed(0)} MB`)
  const scrolled = await wheel(page, 5)
  say("frame while scrolling, median / 95 %", `${scrolled.median.toFixed(0)} / ${scrolled.p95.toFixed(0)} ms`)
  say("blank rows while scrolling", scrolled.blank)
  say("server's memory then, at the most", `${peakMb(pid).toFixed(0)} MB`)
  await page.focus(".talk")
  await page.keyboard.press("G")
  say("at the end, rows there after", `${(await settled(page)).toFixed(0)} ms`)
  const last = await page.evaluate(() =>
    document.querySelector(".talk .row:last-child article")?.getAttribute("aria-posinset")
  )
  const all = await page.evaluate(() => document.querySelector(".talk article")?.getAttribute("aria-setsize"))
  say("last row shown", `${last} of ${all}`)
  const waits: Array<number> = []
  for (let at = 1; at < 20; at++) {
    await page.evaluate(
      (share) => {
        const list = document.querySelector(".talk")
        if (list !== null) list.scrollTop = share * list.scrollHeight
      },
      ((at * 7) % 20) / 20
    )
    await page.waitForTimeout(30)
    waits.push(await settled(page))
  }
  waits.sort((a, b) => a - b)
  say(
    "20 jumps anywhere, rows there after (median)",
    `${(waits[10] ?? 0).toFixed(0)} ms, most ${(waits.at(-1) ?? 0).toFixed(0)} ms`
  )
  say("server's memory, at the most", `${peakMb(pid).toFixed(0)} MB`)
} finally {
  await browser.close()
  server.kill("SIGINT")
  rmSync(folder, { recursive: true, force: true })
}
