/**
 * How much a property test does. `pnpm test` runs every property with a small dose; `pnpm test:campaigns` runs the files
 * `*.campaign.ts` with large ones. Environment:
 *
 *     PI_SESSIONS_WALKS=300    the dose of one kind of test, in either suite
 *     PI_SESSIONS_BUDGET=0.1   multiplies the doses of campaigns; default: 1
 *     PI_SESSIONS_SEED=7       the first seed; default: 1
 */
import * as process from "node:process"

/** What one kind of test does by default, in cases. */
export interface Doses {
  readonly test: number
  readonly campaign: number
}

/** The number of cases to run: from the variable, else by suite. A campaign runs at least what a test runs. */
export const of = (variable: string, doses: Doses): number => {
  const given = Number(process.env[variable])
  if (given > 0) return Math.ceil(given)
  if (!isCampaign()) return doses.test
  return Math.max(doses.test, Math.round(doses.campaign * (Number(process.env["PI_SESSIONS_BUDGET"]) || 1)))
}

/** The first seed. Default: 1. */
export const firstSeed = (): number => Number(process.env["PI_SESSIONS_SEED"]) || 1

/** Whether the files `*.campaign.ts` are running. */
export const isCampaign = (): boolean => process.env["PI_SESSIONS_CAMPAIGNS"] === "1"
