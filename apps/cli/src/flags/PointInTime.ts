/** Times that a flag gives: a day, a day and time, or how long ago. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { UsageError } from "../Exit.ts"

const DAY_MS = 86_400_000

const UNITS_MS: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS }

/**
 * Unix time in milliseconds; undefined if the text is not a time. Without a zone, times are in this machine's zone. A day
 * is its first millisecond, with `end` its last.
 */
export const parse = (given: string, nowMs: number, end = false): number | undefined => {
  const ago = /^([0-9]+)([mhdw])$/.exec(given)
  if (ago !== null) return nowMs - Number(ago[1]) * (UNITS_MS[ago[2] ?? ""] ?? 0)
  const day = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(given)
  if (day !== null) {
    const [year, month, date] = day.slice(1).map(Number)
    const start = new Date(year ?? 0, (month ?? 1) - 1, date)
    // JavaScript reads February 31 as a day in March.
    if (start.getMonth() + 1 !== month || start.getDate() !== date) return undefined
    return end ? new Date(start.getTime() + DAY_MS * 1.5).setHours(0, 0, 0, 0) - 1 : start.getTime()
  }
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}/.test(given)) return undefined
  const time = new Date(given.replace(" ", "T")).getTime()
  return Number.isNaN(time) ? undefined : time
}

/** The time of a flag in Unix milliseconds. With `--until`, a day counts whole. */
const fromFlag = Effect.fnUntraced(function* (flag: string, given: string) {
  const time = parse(given, yield* Clock.currentTimeMillis, flag === "--until")
  if (time !== undefined) return time
  const text = `${flag}: ${JSON.stringify(given)} is not a time; give 2026-02-25, 2026-02-25T08:30, or how long ago: 30m, 12h, 7d, 2w`
  return yield* new UsageError({ text })
})

/** The time of a flag in ISO 8601. */
export const isoFromFlag = (flag: string, given: string): Effect.Effect<string, UsageError> =>
  Effect.map(fromFlag(flag, given), (ms) => new Date(ms).toISOString())

interface Period {
  readonly since: Option.Option<string>
  readonly until: Option.Option<string>
}

const optional = <A>(given: Option.Option<string>, read: (given: string) => Effect.Effect<A, UsageError>) =>
  Option.isNone(given) ? Effect.succeed(undefined) : read(given.value)

/** The times of `--since` and `--until` in Unix milliseconds; undefined for a flag that is not given. */
export const periodMs = Effect.fnUntraced(function* ({ since, until }: Period) {
  return {
    sinceMs: yield* optional(since, (given) => fromFlag("--since", given)),
    untilMs: yield* optional(until, (given) => fromFlag("--until", given))
  }
})

/** The times of `--since` and `--until` in ISO 8601; without a key for a flag that is not given. */
export const isoPeriod = Effect.fnUntraced(function* ({ since, until }: Period) {
  return {
    ...(Option.isSome(since) ? { since: yield* isoFromFlag("--since", since.value) } : {}),
    ...(Option.isSome(until) ? { until: yield* isoFromFlag("--until", until.value) } : {})
  }
})
