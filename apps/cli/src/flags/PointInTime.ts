/** Points in time as a person gives them (a day, a day and time, or how long ago) and reads them: of this machine's zone. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { UsageError } from "../Exit.ts"

const AGO: { readonly [unit: string]: number } = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000
}

const DAY_MS = 86_400_000

/**
 * Unix time in milliseconds; undefined for what is no point in time. A day and a time without a zone are of this
 * machine's zone. `end` takes a day's last millisecond in place of its first.
 */
export const parse = (given: string, nowMs: number, end = false): number | undefined => {
  const ago = /^([0-9]+)([mhdw])$/.exec(given)
  if (ago !== null) return nowMs - Number(ago[1]) * (AGO[ago[2] ?? ""] ?? 0)
  const day = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(given)
  if (day !== null) {
    const [year, month, date] = day.slice(1).map(Number)
    const start = new Date(year ?? 0, (month ?? 1) - 1, date)
    // The 31st of February is another day.
    if (start.getMonth() + 1 !== month || start.getDate() !== date) return undefined
    return end ? new Date(start.getTime() + DAY_MS * 1.5).setHours(0, 0, 0, 0) - 1 : start.getTime()
  }
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}/.test(given)) return undefined
  const time = new Date(given.replace(" ", "T")).getTime()
  return Number.isNaN(time) ? undefined : time
}

/** The time that a flag gives, in Unix milliseconds; of `--until` a day counts whole. */
export const fromFlag = Effect.fnUntraced(function* (flag: string, given: string) {
  const time = parse(given, yield* Clock.currentTimeMillis, flag === "--until")
  if (time !== undefined) return time
  const text = `${flag}: ${JSON.stringify(given)} is no point in time; give 2026-02-25, 2026-02-25T08:30, or how long ago: 30m, 12h, 7d, 2w`
  return yield* new UsageError({ text })
})

const two = (value: number): string => String(value).padStart(2, "0")

/** Day and time in this machine's zone. */
export const show = (ms: number): string => {
  const date = new Date(ms)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** The same, to the second. */
export const showSeconds = (ms: number): string => `${show(ms)}:${two(new Date(ms).getSeconds())}`
