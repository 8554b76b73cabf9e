/** Which commands of an agent run tests, commit or close a bead, and what they print when they have. */
import { type ShellCommand, commandsOf } from "./shellCommands.ts"

/** A call of the shell that has a result. */
export interface ShellRun {
  readonly line: string
  readonly isError: boolean
  /** What it printed. */
  readonly output: () => string
}

const basename = (word: string): string => word.split(/[/\\]/u).at(-1) ?? word

/** Programs that run the program behind them, with the words of their own that come before it. */
const WRAPPERS: ReadonlyArray<readonly [program: string, ...more: ReadonlyArray<string>]> = [
  ["env"],
  ["time"],
  ["command"],
  ["exec"],
  ["nohup"],
  ["timeout"],
  ["npx"],
  ["bunx"],
  ["pnpx"],
  ["xvfb-run"],
  ["npm", "exec"],
  ["pnpm", "exec"],
  ["pnpm", "dlx"],
  ["yarn", "exec"],
  ["yarn", "dlx"],
  ["uv", "run"],
  ["poetry", "run"],
  ["pipenv", "run"],
  ["bundle", "exec"],
  ["mise", "exec"]
]

/** The program that runs in the end, and its arguments. */
const unwrapped = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [program = "", second] = words
  const wrapper = WRAPPERS.find(([name, next]) => name === basename(program) && (next === undefined || next === second))
  if (wrapper === undefined) return [basename(program), ...words.slice(1)]
  let at = wrapper.length
  // Options, assignments of env, the seconds of timeout.
  while (/^-|^[A-Za-z_]\w*=|^[\d.]+[smhd]?$/u.test(words[at] ?? "")) at++
  return at < words.length ? unwrapped(words.slice(at)) : []
}

const TAKING_VALUE = /^(?:-C|--dir|--filter|-F|--prefix|--cwd|--workspace|--manifest-path|-f|-p|--package)$/u

/** Arguments that are no options, nor values of the options that package managers and make have before their command. */
const operands = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.filter((arg, at) => !/^[-+]/u.test(arg) && !TAKING_VALUE.test(args[at - 1] ?? ""))

const TEST_TARGET = /^(?:test|tests|check)(?:$|[:_-])/u

const firstIs =
  (...names: ReadonlyArray<string>) =>
  (args: ReadonlyArray<string>): boolean =>
    names.includes(operands(args)[0] ?? "")

const anyTarget = (args: ReadonlyArray<string>): boolean => operands(args).some((arg) => TEST_TARGET.test(arg))

const always = (): boolean => true

/** `npm test`, `pnpm --filter x run test:unit`, `yarn workspace x test`, `pnpm vitest`. */
const script = (args: ReadonlyArray<string>): boolean => {
  const [first = "", second = "", ...others] = operands(args)
  if (first === "test" || first === "t" || first === "tst") return true
  if (first === "run" || first === "run-script") return /^test(?:$|[:_-])/u.test(second)
  if (first === "workspace") return script(others)
  return first !== "" && first !== "exec" && isTestProgram(first, [second, ...others])
}

const pythonModule = (args: ReadonlyArray<string>): boolean => {
  const at = args.indexOf("-m")
  if (at >= 0) return args[at + 1] === "pytest" || args[at + 1] === "unittest"
  return basename(args[0] ?? "") === "manage.py" && args[1] === "test"
}

/** By program: whether its arguments make it run tests. */
const TEST_PROGRAMS: { readonly [program: string]: (args: ReadonlyArray<string>) => boolean } = {
  npm: script,
  pnpm: script,
  yarn: script,
  bun: script,
  vitest: always,
  jest: always,
  mocha: always,
  ava: always,
  node: (args) => args.includes("--test"),
  deno: firstIs("test"),
  playwright: firstIs("test"),
  turbo: anyTarget,
  nx: anyTarget,
  pytest: always,
  "py.test": always,
  tox: always,
  nox: always,
  python: pythonModule,
  python3: pythonModule,
  cargo: firstIs("test", "nextest"),
  go: firstIs("test"),
  gotestsum: always,
  make: anyTarget,
  just: anyTarget,
  ctest: always,
  bazel: firstIs("test"),
  mvn: (args) => operands(args).some((arg) => arg === "test" || arg === "verify"),
  gradle: (args) => operands(args).some((arg) => /(?:^|:)(?:test|check)$/u.test(arg)),
  gradlew: (args) => operands(args).some((arg) => /(?:^|:)(?:test|check)$/u.test(arg)),
  dotnet: firstIs("test"),
  swift: firstIs("test"),
  mix: firstIs("test"),
  flutter: firstIs("test"),
  dart: firstIs("test"),
  rails: firstIs("test"),
  rake: firstIs("test", "spec"),
  rspec: always,
  phpunit: always,
  bats: always
}

const MAY_TEST = /test|check|verify|spec|jest|mocha|ava|tox|nox|playwright|phpunit|bats|npm t|pnpm t|yarn t/u

/** These make a test runner say something and run nothing. */
const NO_RUN = new Set(["--help", "-h", "--version", "--collect-only", "--co", "--listTests", "--list", "--no-run"])

const isTestProgram = (program: string, args: ReadonlyArray<string>): boolean =>
  Object.hasOwn(TEST_PROGRAMS, program) &&
  !args.some((arg) => NO_RUN.has(arg)) &&
  TEST_PROGRAMS[program]?.(args) === true

const isTestRun = ({ words }: ShellCommand): boolean => {
  const [program = "", ...args] = unwrapped(words)
  return isTestProgram(program, args)
}

// oxlint-disable-next-line no-control-regex -- the escape character is what terminals are told colours with
const COLOURS = /\u001b\[[0-9;]*m/gu

/** Last lines of test runners when all went well: vitest, jest, pytest, cargo, go, node, bun, mocha. */
const PASSED =
  /^[ \t]*Tests:?\s.*\d+ passed|\b\d+ passed\b.* in [\d.]+ ?s|^test result: ok\.|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))|^(?:#|ℹ) pass [1-9]|^[ \t]*[1-9]\d* pass$|^[ \t]*[1-9]\d* passing\b/mu
const FAILED =
  /\b[1-9]\d* (?:failed|failing|fail|failures?|errors?)\b|^(?:#|ℹ) fail [1-9]|^test result: FAILED|^[ \t]*FAIL\b|^--- FAIL|ELIFECYCLE|^npm (?:ERR!|error)/mu

/**
 * Whether a run of tests passed; undefined where the line runs none, or hides how they ended and printed no result.
 * A status that another command hides (`npm test | tail`) is told by what the runner printed.
 */
export const testsPassed = ({ isError, line, output }: ShellRun): boolean | undefined => {
  // Most lines need not be read to be known to run none.
  const runs = MAY_TEST.test(line) ? commandsOf(line).filter(isTestRun) : []
  if (runs.length === 0) return undefined
  if (!isError && runs.every(({ proven }) => proven)) return true
  const printed = output().replaceAll(COLOURS, "")
  if (FAILED.test(printed)) return false
  // What failed may stand behind the tests, as in `npm test && npm run lint`.
  if (isError) return PASSED.test(printed) ? undefined : false
  return PASSED.test(printed) ? true : undefined
}

const GIT_VALUES = new Set(["-C", "-c", "--git-dir", "--work-tree"])

const isCommit = ({ words }: ShellCommand): boolean => {
  const [program, ...args] = unwrapped(words)
  const at = args.findIndex((arg, i) => !arg.startsWith("-") && !GIT_VALUES.has(args[i - 1] ?? ""))
  return program === "git" && args[at] === "commit" && !args.includes("--dry-run") && !args.includes("--help")
}

/** `[main 1a2b3c4] message`, `[main (root-commit) 1a2b3c4] message`. */
const COMMITTED = /^[ \t]*\[[^\]\n]+ [0-9a-f]{7,40}\] /mu

/** Whether a commit was made: the status proves it, or git printed it. */
export const madeCommit = ({ isError, line, output }: ShellRun): boolean => {
  const commits = line.includes("commit") ? commandsOf(line).filter(isCommit) : []
  return commits.some(({ proven }) => proven && !isError) || (commits.length > 0 && COMMITTED.test(output()))
}

const isClosing = ({ words }: ShellCommand): boolean => {
  const [program, ...args] = unwrapped(words)
  const [command] = operands(args)
  if (args.includes("--help") || args.includes("-h")) return false
  if (program === "gt") return command === "close"
  if (program !== "bd") return false
  if (command === "close") return true
  return command === "update" && /(?:^| )(?:--status|-s)[= ]closed(?: |$)/u.test(args.join(" "))
}

/** `✓ Closed gt-12: reason`. */
const CLOSED = /^[^\w\n]*Closed\s+[\w.-]+-[\w.-]+/mu

/** Whether a bead was closed: by the beads CLI `bd`, or `gt close`, which hands on to it. */
export const closedBead = ({ isError, line, output }: ShellRun): boolean => {
  const closings = line.includes("close") ? commandsOf(line).filter(isClosing) : []
  return closings.some(({ proven }) => proven && !isError) || (closings.length > 0 && CLOSED.test(output()))
}
