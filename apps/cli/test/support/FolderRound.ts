/** Runs every command over a folder of good and broken sessions, and over each broken session. */
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as EverySession from "@pi-sessions/testing/sessions/EverySession"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Args, besideSession, overFolder, overSession } from "./anyCommand.ts"
import { call } from "./callCli.ts"
import { problemOf, type Watchdog } from "./neverFails.ts"

/** A broken file. */
export interface Case {
  /** The kind of damage. */
  readonly name: string
  readonly seed: number
  readonly bytes: Uint8Array
}

/** A call with a fault that no call may have. */
export interface Fault {
  readonly cases: ReadonlyArray<Case>
  readonly args: Args
  readonly problem: string
}

const GOOD: ReadonlyArray<EverySession.EverySession> = [900_001, 900_002, 900_003].map((seed, at) =>
  EverySession.make({
    seed,
    format: EverySession.formats[at] ?? "v3",
    cwd: "/home/ann/gt/goodrig/crew/max",
    model: "good-model"
  })
)

const write = (root: string, cases: ReadonlyArray<Case>): void => {
  const [good, broken] = [Path.join(root, "good"), Path.join(root, "broken")]
  for (const folder of [good, broken]) Files.mkdirSync(folder, { recursive: true })
  for (const { id, lines } of GOOD) {
    const file = Path.join(good, `${id}.jsonl`)
    Files.writeFileSync(file, `${lines.join("\n")}\n`)
    Files.utimesSync(file, 1_772_445_600, 1_772_445_600)
  }
  for (const { seed, bytes } of cases) Files.writeFileSync(Path.join(broken, `${seed}.jsonl`), bytes)
}

/** Empties the folders of a round. */
const folders = (cwd: string): { readonly root: string; readonly out: string } => {
  const [root, out] = [Path.join(cwd, "root"), Path.join(cwd, "out")]
  for (const folder of [root, out]) {
    Files.rmSync(folder, { recursive: true, force: true })
    Files.mkdirSync(folder, { recursive: true })
  }
  return { root, out }
}

/** Runs calls until one has a fault. */
export const firstProblem = Effect.fnUntraced(function* (cwd: string, calls: ReadonlyArray<Args>, watchdog: Watchdog) {
  for (const args of calls) {
    watchdog.begin(args.join(" "))
    const problem = problemOf(args, yield* call(args, cwd))
    if (problem !== undefined) return { args, problem }
  }
  return undefined
})

const linesWith = (text: string, words: ReadonlyArray<string>): ReadonlyArray<string> =>
  text
    .split("\n")
    .filter((line) => words.some((word) => line.includes(word)))
    .toSorted()

const WORDS = GOOD.map(({ word }) => word)
const IDS = GOOD.map(({ id }) => id)

const rigRow = (stats: string): unknown => {
  const rows: ReadonlyArray<{ readonly name: string }> = JSON.parse(stats).groups.rig
  return rows.find(({ name }) => name === "goodrig")
}

/** Results of the commands for the good sessions of a folder. */
const goodResults = Effect.fnUntraced(function* (cwd: string, root: string, out: string) {
  const sessions = ["--sessions", root]
  const listed = yield* call(["list", ...sessions, "--ndjson"], cwd)
  const found = yield* Effect.forEach(WORDS, (word) =>
    call(["search", word, ...sessions, "--scope", "all", "--ndjson"], cwd)
  )
  const counted = yield* call(["stats", ...sessions, "--by", "rig", "--json"], cwd)
  const dataset = Path.join(out, "good")
  const flags = ["--include-near-duplicates", "--workers", "1"]
  yield* call(["extract", ...sessions, "--out", dataset, ...flags], cwd)
  const samples = Path.join(dataset, "train.jsonl")
  return {
    listed: linesWith(listed.stdout, IDS),
    found: found.map(({ stdout }, at) => linesWith(stdout, WORDS.slice(at, at + 1))),
    counted: rigRow(counted.stdout),
    extracted: linesWith(Files.existsSync(samples) ? Files.readFileSync(samples, "utf8") : "", WORDS)
  }
})

type GoodResults = Effect.Success<ReturnType<typeof goodResults>>

/** Results of the commands for the good sessions alone. */
export const baseline = Effect.fnUntraced(function* (cwd: string) {
  const { root, out } = folders(cwd)
  write(root, [])
  const results = yield* goodResults(cwd, root, out)
  if (
    results.listed.length !== GOOD.length ||
    results.extracted.length === 0 ||
    results.found.some((f) => f.length === 0)
  )
    return yield* Effect.die(new Error("the good sessions give no results to compare with"))
  return results
})

const compared = Effect.fnUntraced(function* (
  cwd: string,
  cases: ReadonlyArray<Case>,
  good: GoodResults,
  watchdog: Watchdog
) {
  watchdog.begin("what is reported of the good sessions")
  const { root, out } = folders(cwd)
  write(root, cases)
  const now = yield* goodResults(cwd, root, out)
  for (const [what, results] of Object.entries(good)) {
    if (JSON.stringify(Reflect.get(now, what)) !== JSON.stringify(results)) {
      return { args: [what], problem: `changes what is ${what} of the good sessions` }
    }
  }
  return undefined
})

/** The problem of a folder with some cases; undefined if there is none. */
type Check = (cases: ReadonlyArray<Case>) => Effect.Effect<Omit<Fault, "cases"> | undefined>

/** The smallest set of cases found that has the problem. */
const culprit = Effect.fnUntraced(function* (cases: ReadonlyArray<Case>, check: Check) {
  let left = cases
  while (left.length > 1) {
    const half = Math.ceil(left.length / 2)
    const [first, second] = [left.slice(0, half), left.slice(half)]
    if ((yield* check(first)) !== undefined) left = first
    else if ((yield* check(second)) !== undefined) left = second
    else break
  }
  return left
})

/** All faults of the commands over one folder. A case with a fault is left out of later checks. */
const overAll = Effect.fnUntraced(function* (
  cwd: string,
  cases: ReadonlyArray<Case>,
  good: GoodResults,
  watchdog: Watchdog
) {
  const seed = cases[0]?.seed ?? 0
  const [root, out] = [Path.join(cwd, "root"), Path.join(cwd, "out")]
  const checks = overFolder(SeededRandom.make(seed), root, out, cases.length === 1).map((calls): Check =>
    Effect.fnUntraced(function* (some) {
      folders(cwd)
      write(root, some)
      return yield* firstProblem(cwd, calls, watchdog)
    })
  )
  const faults: Array<Fault> = []
  let left = cases
  for (const check of [...checks, (some: ReadonlyArray<Case>) => compared(cwd, some, good, watchdog)]) {
    for (let found = yield* check(left); found !== undefined; found = yield* check(left)) {
      const guilty = yield* culprit(left, check)
      faults.push({ cases: guilty, ...found })
      // Without a guilty case the good sessions alone have the problem, so the loop would not end.
      if (guilty.length === 0) break
      left = left.filter((one) => !guilty.includes(one))
    }
  }
  return faults
})

/** Runs the commands over the folder, and over each case. */
export const tried = Effect.fnUntraced(function* (
  cwd: string,
  cases: ReadonlyArray<Case>,
  good: GoodResults,
  watchdog: Watchdog
) {
  const faults: Array<Fault> = [...(yield* overAll(cwd, cases, good, watchdog))]
  for (const one of cases) {
    const { root, out } = folders(cwd)
    const file = Path.join(root, `${one.seed}.jsonl`)
    Files.writeFileSync(file, one.bytes)
    const random = SeededRandom.make(one.seed)
    const isAlone = cases.length === 1
    const calls = [...overSession(random, file, out, isAlone), ...besideSession(random, file, out, isAlone)]
    const problem = yield* firstProblem(cwd, calls, watchdog)
    if (problem !== undefined) faults.push({ cases: [one], ...problem })
  }
  return faults
})
