/** Doses and inputs of the store's tests. A failure names its seed: PI_SESSIONS_SEED=<seed> runs that case first. */
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"

/** The seed of the first case. */
export const firstSeed = Dose.firstSeed()

/** The seeds of so many cases; each is one more than the one before. */
export const seeds = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => firstSeed + at)

/** Number of random sessions or sequences of operations. */
export const walks = (doses: Dose.Doses): number => Dose.of("PI_SESSIONS_WALKS", doses)

/** Number of cases of a fuzz test. */
export const fuzz = (doses: Dose.Doses): number => Dose.of("PI_SESSIONS_FUZZ", doses)

/** Number of crash states to check. */
export const crashStates = (doses: Dose.Doses): number => Dose.of("PI_SESSIONS_CRASH_STATES", doses)

/** Number of calls at which one fault is injected. */
export const faults = (doses: Dose.Doses): number => Dose.of("PI_SESSIONS_FAULTS", doses)

/** Rounds of kill -9 of a real writer. */
export const kills = (doses: Dose.Doses): number => Dose.of("PI_SESSIONS_KILLS", doses)

/** Evenly spread items, `count` at most. Another seed chooses others. */
export const spread = <A>(items: ReadonlyArray<A>, count: number): ReadonlyArray<A> => {
  const stride = Math.max(1, Math.ceil(items.length / count))
  const first = (firstSeed - 1) % Math.min(stride, items.length || 1)
  return items.filter((_, at) => at % stride === first)
}

export const isCampaign: boolean = Dose.isCampaign()

/** A folder of real sessions that are not in the repository. */
export const corpus: string | undefined = process.env["PI_SESSIONS_CORPUS"] || undefined

/** Prints a count, in campaigns. */
export const note = (text: string): void => {
  if (isCampaign) process.stdout.write(`${text}\n`)
}
