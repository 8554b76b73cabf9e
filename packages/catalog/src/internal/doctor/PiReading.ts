/** What becomes of a value on its way through a Pi: what the request holds of it, and what counting its tokens does. */
import { type PiProfile } from "@pi-sessions/core/PiProfile"

/** From the worst to the best. `loses`: text that can be read is left out, or replaced, without a word. */
export type Sends = "crashes" | "missends" | "loses" | "reads"

const WORST: ReadonlyArray<Sends> = ["crashes", "missends", "loses", "reads"]

export interface Reading {
  readonly sends: Sends
  /** 1.5 fails where it counts the tokens of its text for a request. */
  readonly counts: boolean
  /** Pi fails where it counts the tokens of its text before a prompt. */
  readonly estimates: boolean
}

export type Readings = { readonly [version in PiProfile]: Reading }

export const reading = (sends: Sends, counts = false, estimates = false): Reading => ({ sends, counts, estimates })

/** The same in both Pis; only 1.5 counts tokens for a request. */
export const inBoth = (sends: Sends, counts = false, estimates = false): Readings => ({
  "0.78": reading(sends, false, estimates),
  "1.5": reading(sends, counts, estimates)
})

export const each = (old: Reading, now: Reading): Readings => ({ "0.78": old, "1.5": now })

const worseOf = (a: Reading, b: Reading): Reading => ({
  sends: WORST.find((sends) => sends === a.sends || sends === b.sends) ?? "reads",
  counts: a.counts || b.counts,
  estimates: a.estimates || b.estimates
})

/** What becomes of two values together. */
export const worse = (a: Readings, b: Readings): Readings => ({
  "0.78": worseOf(a["0.78"], b["0.78"]),
  "1.5": worseOf(a["1.5"], b["1.5"])
})
