/**
 * How much the property tests do, from which seed, and where more sessions are. A failure names the seed of its case:
 * `PI_SESSIONS_SEED=<seed> PI_SESSIONS_FUZZ=1` (or `PI_SESSIONS_WALKS=1`) runs that case alone.
 */
import * as Dose from "@pi-sessions/testing/Dose"
import * as process from "node:process"

/** How many times the dose of `pnpm test` a campaign runs. */
const CAMPAIGN = 20

const doses = (test: number): Dose.Doses => ({ test, campaign: CAMPAIGN * test })

/** The number of random walks through a real Pi, for each version. */
export const walks = (test: number): number => Dose.of("PI_SESSIONS_WALKS", doses(test))

/** The number of cases of a fuzz test. */
export const fuzz = (test: number): number => Dose.of("PI_SESSIONS_FUZZ", doses(test))

/** Whether so many cases cover everything that can happen. */
export const isMany = (count: number): boolean => count >= 20

export { firstSeed, isCampaign } from "@pi-sessions/testing/Dose"

/** The seeds of so many cases. */
export const seeds = (count: number): ReadonlyArray<number> => {
  const first = Dose.firstSeed()
  return Array.from({ length: count }, (_, at) => first + at)
}

/** A directory of real sessions that are not in the repository. */
export const corpus: string | undefined = process.env["PI_SESSIONS_CORPUS"] || undefined

/** Writes a line beside the test results. */
export const note = (text: string): void => void process.stdout.write(`${text}\n`)
