/**
 * Side-by-side measurements: each contender is a program of its own, run in turn (A B C A B C ...) so that a drift of
 * the machine hits all alike, and printed as one table with medians and spread.
 */
import { spawnSync } from "node:child_process"
import * as Os from "node:os"
import { performance } from "node:perf_hooks"

export interface Contender {
  readonly name: string
  /** Program and arguments. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** The program prints `{"ms": ..., "mb": ...}` as its last line; without this the whole process is timed. */
  readonly reports?: boolean
  /** The whole process is timed, and its peak is measured too: a program that Node runs. */
  readonly peaks?: boolean
  /** Done before each run, untimed. */
  readonly prepare?: () => void
}

/** What a program that reports measured of itself. */
export interface Report {
  /** Milliseconds of the work alone. */
  readonly ms: number
  /** Megabytes that the process's peak grew by during the work. */
  readonly mb?: number
}

/** Runs the work of a reporting program and prints its report; `mb` is the growth of the peak resident set. */
export const report = async (work: () => unknown): Promise<void> => {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  const start = performance.now()
  const kept = await work()
  const ms = performance.now() - start
  const mb = Math.max(0, process.resourceUsage().maxRSS * 1024 - before) / 1e6
  process.stdout.write(`${JSON.stringify({ ms, mb } satisfies Report)}\n`)
  if (kept === process) process.stdout.write("")
}

/**
 * As `report`, of work that is done `runs` times after a warm-up in the one process: `ms` is the median, `mb` how far the
 * peak grew over all of it.
 */
export const reportMedian = async (work: () => unknown, runs = 7): Promise<void> => {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  const times: Array<number> = []
  for (let run = 0; run <= runs; run++) {
    const start = performance.now()
    await work()
    if (run > 0) times.push(performance.now() - start)
  }
  const mb = Math.max(0, process.resourceUsage().maxRSS * 1024 - before) / 1e6
  process.stdout.write(`${JSON.stringify({ ms: median(times), mb } satisfies Report)}\n`)
}

const PEAK = new URL("./internal/printPeak.ts", import.meta.url)

const runOnce = ({ command: [program, ...args], peaks, prepare, reports, name }: Contender): Report => {
  prepare?.()
  const env = peaks === true ? { ...process.env, NODE_OPTIONS: `--import=${PEAK.href}` } : process.env
  const start = performance.now()
  const child = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1 << 26, env })
  const ms = performance.now() - start
  if (child.status !== 0) throw new Error(`${name} failed (${child.status ?? child.signal}):\n${child.stderr}`)
  const peak = /^peak (\d+) kB$/mu.exec(child.stderr)?.[1]
  if (peaks === true && peak !== undefined) return { ms, mb: Number(peak) / 1e3 }
  if (reports !== true) return { ms }
  const parsed: Report = JSON.parse(child.stdout.trimEnd().split("\n").at(-1) ?? "")
  return parsed
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1))

export interface Options {
  readonly title: string
  /** Bytes that each contender works through, for MB/s. */
  readonly bytes?: number
  readonly runs?: number
  /** Which contender the others are compared with; the first by default. */
  readonly baseline?: string
}

/** Measures the contenders and prints the table to stdout. */
export const table = (options: Options, contenders: ReadonlyArray<Contender>): void => {
  const runs = options.runs ?? 5
  const samples = new Map(contenders.map((contender) => [contender.name, new Array<Report>()]))
  for (const contender of contenders) runOnce(contender)
  for (let run = 0; run < runs; run++) {
    for (const contender of contenders) samples.get(contender.name)?.push(runOnce(contender))
  }
  const baseline = samples.get(options.baseline ?? contenders[0]?.name ?? "") ?? []
  const baselineMs = median(baseline.map(({ ms }) => ms))
  const baselineMb = baseline.every(({ mb }) => mb !== undefined)
    ? median(baseline.map(({ mb }) => mb ?? 0))
    : undefined

  const rows = contenders.map(({ name }) => {
    const own = samples.get(name) ?? []
    const times = own.map(({ ms }) => ms)
    const ms = median(times)
    const mb = own.every((sample) => sample.mb !== undefined) ? median(own.map((sample) => sample.mb ?? 0)) : undefined
    return [
      name,
      shown(ms),
      `${shown(Math.min(...times))} to ${shown(Math.max(...times))}`,
      `${(ms / baselineMs).toFixed(2)}x`,
      ...(options.bytes === undefined ? [] : [shown(options.bytes / 1e6 / (ms / 1e3))]),
      ...(mb === undefined
        ? []
        : [shown(mb), baselineMb === undefined || baselineMb < 1 ? "" : `${(mb / baselineMb).toFixed(2)}x`])
    ]
  })
  const hasMemory = rows.some((row) => row.length > (options.bytes === undefined ? 4 : 5))
  const head = [
    "",
    "median ms",
    "spread",
    "time",
    ...(options.bytes === undefined ? [] : ["MB/s"]),
    ...(hasMemory ? ["peak MB", "memory"] : [])
  ]
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length)))
  const line = (row: ReadonlyArray<string>): string =>
    widths
      .map((width, column) => (row[column] ?? "")[column === 0 ? "padEnd" : "padStart"](width))
      .join("  ")
      .trimEnd()
  process.stdout.write(
    [
      "",
      options.title,
      `${Os.cpus()[0]?.model ?? "unknown processor"}, ${Os.cpus().length} cores, Node ${process.versions.node}; median of ${runs} after one warm-up`,
      line(head),
      ...rows.map(line),
      ""
    ].join("\n")
  )
}
