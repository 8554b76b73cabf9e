/** What the environment may say to the tests of crashes and faults. `settings.ts` has the rest. */
import * as process from "node:process"
import { firstSeed, note } from "./settings.ts"

const count = (name: string, usual: number): number => {
  const text = process.env[name] ?? ""
  const value = text === "" ? usual : Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} is no count: ${text}`)
  return value
}

/** How many states after a crash a test file tries at least. */
export const states = (usual: number): number => count("PI_SESSIONS_CRASH_STATES", usual)

/** Every how many faults one is tried; 1 tries them all. */
export const faultStride = (usual: number): number => count("PI_SESSIONS_FAULT_STRIDE", usual)

/** Rounds of kill -9 under real writers. */
export const kills = (usual: number): number => count("PI_SESSIONS_KILLS", usual)

/** How long a test may take whose work the environment sets, in milliseconds. */
export const patience = 3_600_000

export { firstSeed, note }
