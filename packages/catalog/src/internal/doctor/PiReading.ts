/** What each Pi does with a value: in the request, and where it counts tokens. */
import { type PiProfile } from "@pi-sessions/core/PiProfile"

/** What the request does with a value. `loses`: readable text is silently omitted or replaced. */
export type Sends = "crashes" | "missends" | "loses" | "reads"

/** Worst first. */
const WORST: ReadonlyArray<Sends> = ["crashes", "missends", "loses", "reads"]

export interface Reading {
  readonly sends: Sends
  /** 1.5 fails when it counts the tokens for a request. */
  readonly counts: boolean
  /** Pi fails when it counts the tokens before a prompt. */
  readonly estimates: boolean
}

export type Readings = { readonly [version in PiProfile]: Reading }

export const reading = (sends: Sends, counts = false, estimates = false): Reading => ({ sends, counts, estimates })

/** The same reading in both Pis, but only 1.5 counts tokens for a request. */
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

/** The combined reading of two values. */
export const worse = (a: Readings, b: Readings): Readings => ({
  "0.78": worseOf(a["0.78"], b["0.78"]),
  "1.5": worseOf(a["1.5"], b["1.5"])
})
