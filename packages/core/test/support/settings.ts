/**
 * What the environment may say to the tests: how much, from which seed, and where more sessions lie.
 *
 * A failure names the seed of its case: `PI_SESSIONS_SEED=<seed> PI_SESSIONS_FUZZ=1` (or `PI_SESSIONS_WALKS=1`) runs
 * that case alone.
 */
import * as process from "node:process"

const integer = (name: string): number | undefined => {
  const text = process.env[name]
  if (text === undefined || text === "") return undefined
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} is no count: ${text}`)
  return value
}

/** The seed of the first case; each further case adds one. */
export const firstSeed = integer("PI_SESSIONS_SEED") ?? 1

/** How many random walks through a real Pi, for each version. */
export const walks = (usual: number): number => integer("PI_SESSIONS_WALKS") ?? usual

/** How many cases a fuzz test tries. */
export const fuzz = (usual: number): number => integer("PI_SESSIONS_FUZZ") ?? usual

/** Whether so many cases should show everything that can happen; one that is repeated need not. */
export const isMany = (count: number): boolean => count >= 50

/** How long a test may take whose work the environment sets, in milliseconds. */
export const patience =
  (integer("PI_SESSIONS_WALKS") ?? integer("PI_SESSIONS_FUZZ")) === undefined ? 600_000 : 3_600_000

/** The seeds of so many cases. */
export const seeds = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => firstSeed + at)

/** A folder of real sessions that are not in the repository. */
export const corpus: string | undefined = process.env["PI_SESSIONS_CORPUS"] || undefined

/** Says something beside the results. */
export const note = (text: string): void => void process.stdout.write(`${text}\n`)
