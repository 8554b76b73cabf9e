/** Detects shell commands that run tests, commit or close a bead, and from status and output, whether they succeeded. */
import { nameOf } from "@pi-sessions/core/FileName"
import { type ShellCommand, commandsOf } from "./shellCommands.ts"

/** A shell call with a result. */
export interface ShellRun {
  readonly line: string
  readonly isError: boolean
  readonly output: () => string
}

/** The most wrappers or package managers that may run each other. */
const DEPTH_MAX = 8

/** A program that runs the program after it, such as `env` or `npx`. */
interface Wrapper {
  readonly words: readonly [program: string, command?: string]
  /** Options without a value. */
  readonly flags: ReadonlySet<string>
  /** Options whose value is the next word. */
  readonly valued: ReadonlySet<string>
}

const wrapper = (line: string, flags = "", valued = ""): Wrapper => {
  const [program = "", command] = line.split(" ")
  return {
    words: command === undefined ? [program] : [program, command],
    flags: new Set(["--", ...flags.split(" ")]),
    valued: new Set(valued.split(" "))
  }
}

const NPX_FLAGS = "-y --yes --no --no-install -q --quiet -s --silent --bun -r --recursive"
const UV_FLAGS =
  "-q --quiet --no-sync --frozen --locked --isolated --active --all-extras --all-groups --dev --no-dev --offline"
const UV_VALUED =
  "--with --with-editable --with-requirements -p --python --extra --group --env-file --directory --project"

/** With other options, what they run is unknown (`command -v vitest` runs nothing). */
const WRAPPERS: ReadonlyArray<Wrapper> = [
  wrapper("env", "-i", "-u --unset -C --chdir"),
  wrapper("time", "-p -v -l"),
  wrapper("command", "-p"),
  wrapper("exec", "-c -l", "-a"),
  wrapper("nohup"),
  wrapper("timeout", "--preserve-status --foreground -v", "-s --signal -k --kill-after"),
  wrapper("npx", NPX_FLAGS, "-p --package"),
  wrapper("bunx", NPX_FLAGS, "-p --package"),
  wrapper("pnpx", NPX_FLAGS, "-p --package"),
  wrapper("xvfb-run", "-a --auto-servernum", "-s --server-args -n --server-num"),
  wrapper("npm exec", NPX_FLAGS, "-p --package -w --workspace"),
  wrapper("pnpm exec", NPX_FLAGS),
  wrapper("pnpm dlx", NPX_FLAGS, "--package"),
  wrapper("yarn exec", NPX_FLAGS),
  wrapper("yarn dlx", NPX_FLAGS, "-p --package"),
  wrapper("uv run", UV_FLAGS, UV_VALUED),
  wrapper("poetry run"),
  wrapper("pipenv run"),
  wrapper("bundle exec"),
  wrapper("mise exec")
]

/** The index of the program that a wrapper runs; its options begin at `first`. Undefined if unknown. */
const programAt = ({ flags, valued }: Wrapper, words: ReadonlyArray<string>, first: number): number | undefined => {
  let at = first
  for (;;) {
    const word = words[at]
    if (word === undefined) return undefined
    if (valued.has(word)) at += 2
    // Also assignments (env) and durations (timeout).
    else if (flags.has(word) || /^--[\w-]+=|^[A-Za-z_]\w*=|^[\d.]+[smhd]?$/u.test(word)) at++
    else return word.startsWith("-") ? undefined : at
  }
}

/** The program inside all wrappers, and its arguments; empty if unknown. */
const unwrapped = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  let at: number | undefined = 0
  for (let depth = 0; depth < DEPTH_MAX && at !== undefined; depth++) {
    const [program, second] = [nameOf(words[at] ?? ""), words[at + 1]]
    const found = WRAPPERS.find(
      ({ words: [name, command] }) => name === program && (command === undefined || command === second)
    )
    if (found === undefined) return [program, ...words.slice(at + 1)]
    at = programAt(found, words, at + found.words.length)
  }
  return []
}

const TAKING_VALUE =
  /^(?:-C|--dir|--directory|--filter|-F|--prefix|--cwd|-w|--workspace|--manifest-path|-f|--file|-p|--package)$/u

const isOperand = (arg: string, at: number, args: ReadonlyArray<string>): boolean =>
  !/^[-+]/u.test(arg) && !TAKING_VALUE.test(args[at - 1] ?? "")

/** The arguments without options and without the values of common options. */
const operands = (args: ReadonlyArray<string>): ReadonlyArray<string> => args.filter(isOperand)

/** Known suffixes of `test`, because `test-clean` and `check-deps` run no tests. */
const TEST_KINDS =
  "acceptance|all|api|app|backend|browser|ci|client|core|cov|coverage|e2e|fast|frontend|full|functional|int|" +
  "integration|it|js|lib|local|node|once|packages?|py|python|quick|race|regression|run|rust|short|slow|smoke|" +
  "units?|verbose|web"
const TEST_TARGET = new RegExp(`^(?:tests?|check)(?:[:_-](?:${TEST_KINDS}))*$`, "u")
const TEST_SCRIPT = new RegExp(`^tests?(?:[:_-](?:${TEST_KINDS}))*$`, "u")

/** Whether a program with these arguments runs tests. `depth` counts the programs that run each other. */
type RunsTests = (args: ReadonlyArray<string>, depth: number) => boolean

const firstIs =
  (...names: ReadonlyArray<string>): RunsTests =>
  (args) =>
    names.includes(operands(args)[0] ?? "")

/** Runs tests unless the first operand or an option is one of `words`. */
const unless =
  (...words: ReadonlyArray<string>): RunsTests =>
  (args) =>
    !args.some((arg) => arg.startsWith("-") && words.includes(arg)) && !words.includes(operands(args)[0] ?? "")

const always: RunsTests = () => true

/** `npm test`, `pnpm --filter x run test:unit`, `yarn workspace x test`, `pnpm vitest`. */
const script: RunsTests = (args, depth) => {
  const at = args.findIndex(isOperand)
  const first = args[at] ?? ""
  const rest = args.slice(at + 1)
  if (first === "test" || first === "t" || first === "tst") return true
  if (first === "run" || first === "run-script") return TEST_SCRIPT.test(operands(rest)[0] ?? "")
  if (depth >= DEPTH_MAX) return false
  if (first === "workspace") return script(rest.slice(1), depth + 1)
  return isTestProgram(first, rest, depth + 1)
}

/** The index of an interpreter's script, or of the first of `ends`. */
const scriptAt = (args: ReadonlyArray<string>, valued: RegExp, ends: ReadonlyArray<string>): number =>
  args.findIndex((arg, at) => ends.includes(arg) || (!arg.startsWith("-") && !valued.test(args[at - 1] ?? "")))

const node: RunsTests = (args) => {
  const valued = /^(?:--import|-r|--require|--loader|--experimental-loader|--env-file|-C|--conditions)$/u
  return args[scriptAt(args, valued, ["--test", "-e", "-p"])] === "--test"
}

const python: RunsTests = (args) => {
  const at = scriptAt(args, /^-[WX]$/u, ["-m", "-c"])
  const next = args[at + 1]
  if (args[at] === "-m") return next === "pytest" || next === "unittest"
  return nameOf(args[at] ?? "") === "manage.py" && next === "test"
}

const anyTarget: RunsTests = (args) => operands(args).some((arg) => TEST_TARGET.test(arg))

const turbo: RunsTests = (args, depth) =>
  !firstIs("prune", "gen", "generate", "ls", "query")(args, depth) && anyTarget(args, depth)

/** `-n`, `-q` and `-t` run nothing, and `-i` ignores failures; short options may be combined. */
const make: RunsTests = (args, depth) => !args.some((arg) => /^-[a-z\d]*[inqt]/iu.test(arg)) && anyTarget(args, depth)

/** `nx test app`, `nx run app:test`, `nx run-many -t lint test`, `nx affected --target=test`. */
const nx: RunsTests = (args) => {
  const [first = "", second = ""] = operands(args)
  if (first === "run") return TEST_TARGET.test(second.split(":")[1] ?? "")
  if (first !== "run-many" && first !== "affected") return TEST_TARGET.test(first.replace(/^affected:/u, ""))
  let isTarget = false
  return args.some((arg) => {
    const [, value] = /^(?:-t|--targets?)(?:=(.*))?$/u.exec(arg) ?? []
    if (arg.startsWith("-")) isTarget = /^(?:-t|--targets?)$/u.test(arg)
    const named = value ?? (isTarget ? arg : "")
    return named.split(",").some((name) => TEST_TARGET.test(name))
  })
}

const gradle: RunsTests = (args) => {
  const isTask = (arg: string): boolean => /(?:^|:)(?:test|check)$/u.test(arg)
  const before = /^(?:-x|--exclude-task|--task|-p|-m)$/u
  if (args.some((arg, at) => arg === "-m" || (isTask(arg) && /^(?:-x|--exclude-task)$/u.test(args[at - 1] ?? "")))) {
    return false
  }
  return args.some((arg, at) => isTask(arg) && !before.test(args[at - 1] ?? ""))
}

const maven: RunsTests = (args) =>
  !args.some((arg) => /^(?:-D)?(?:skipTests|maven\.test\.skip(?:\.exec)?)(?:$|=(?!false$))/u.test(arg)) &&
  !args.some((arg) => /^-fn$|^--fail-never$|^(?:-D)?maven\.test\.failure\.ignore/u.test(arg)) &&
  operands(args).some((arg) => arg === "test" || arg === "verify")

const cargo: RunsTests = (args) => {
  const [first, second] = operands(args)
  return first === "test" || (first === "nextest" && second === "run")
}

/** `-run '^$'` is for benchmarks. */
const go: RunsTests = (args, depth) =>
  firstIs("test")(args, depth) && !args.some((arg) => /^--?(?:c|n|list)(?:=|$)|^(?:.*=)?\^\$$/u.test(arg))

/** Sessions of tox and nox that run no tests, as in `tox -e lint`. */
const NO_TEST_SESSIONS = "lint docs format fmt style types typing mypy build release clean".split(" ")

const TEST_PROGRAMS: { readonly [program: string]: RunsTests } = {
  npm: script,
  // pnpm's `-w` has no value.
  pnpm: (args, depth) =>
    script(
      args.filter((arg) => arg !== "-w"),
      depth
    ),
  yarn: script,
  bun: script,
  vitest: unless("list", "init", "bench", "-v"),
  jest: always,
  mocha: unless("init"),
  ava: unless("debug", "reset-cache"),
  node,
  deno: firstIs("test"),
  playwright: firstIs("test"),
  turbo,
  nx,
  pytest: unless("-V", "-VV"),
  "py.test": unless("-V", "-VV"),
  tox: unless(
    ...NO_TEST_SESSIONS,
    ..."-l -a -n list l config c devenv d exec e depends de quickstart q schema".split(" ")
  ),
  nox: unless(...NO_TEST_SESSIONS, "-l"),
  python,
  python3: python,
  cargo,
  go,
  gotestsum: always,
  make,
  just: (args) => !args.includes("-n") && !args.includes("-l") && TEST_TARGET.test(operands(args)[0] ?? ""),
  ctest: unless("-N"),
  bazel: firstIs("test"),
  mvn: maven,
  gradle,
  gradlew: gradle,
  dotnet: (args, depth) => firstIs("test")(args, depth) && !args.includes("-t"),
  swift: (args) => operands(args)[0] === "test" && operands(args)[1] !== "list",
  mix: firstIs("test"),
  flutter: firstIs("test"),
  dart: firstIs("test"),
  rails: firstIs("test"),
  rake: (args, depth) => firstIs("test", "spec")(args, depth) && !args.some((arg) => /^-[nPTDW]/u.test(arg)),
  rspec: always,
  phpunit: always,
  bats: unless("-c", "--count")
}

const MAY_TEST = /test|check|verify|spec|jest|mocha|ava|tox|nox|playwright|phpunit|bats|npm t|pnpm t|yarn t/u

/** Options with which test runners run nothing. */
const NO_RUN = new RegExp(
  `^(?:-h|--(?:help|version|${[
    ["collect-only", "collectonly", "co", "fixtures", "fixtures-per-test", "markers", "setup-plan", "cache-show"],
    ["list", "listTests", "list-tests", "list-files", "list-suites", "list-groups", "listenvs", "listenvs-all"],
    ["showConfig", "showconfig", "show-only", "print-labels", "clearCache", "init", "graph"],
    ["no-run", "notest", "install-only", "dry-run", "dry", "test-dry-run", "just-print", "recon", "question", "touch"]
  ]
    .flat()
    .join("|")}))(?:=|$)`,
  "u"
)

/** Options with which the status is 0 although no test ran or some failed. */
const PROVES_NOTHING =
  /^--(?:if-present|passWithNoTests|pass-with-no-tests|changed|onlyChanged|lastCommit|ignore-errors)(?:=|$)/u

const isTestProgram = (program: string, args: ReadonlyArray<string>, depth: number): boolean =>
  Object.hasOwn(TEST_PROGRAMS, program) &&
  !args.some((arg) => NO_RUN.test(arg)) &&
  TEST_PROGRAMS[program]?.(args, depth) === true

const isTestRun = ({ words }: ShellCommand): boolean => {
  const [program = "", ...args] = unwrapped(words)
  return isTestProgram(program, args, 0)
}

const isProvenRun = ({ proven, words }: ShellCommand): boolean =>
  proven && !words.some((word) => PROVES_NOTHING.test(word))

// oxlint-disable-next-line no-control-regex -- terminal colours begin with the escape character
const COLOURS = /\u001b\[[0-9;]*m/gu

/** Summary lines of passed runs: vitest, jest, pytest, cargo, go, node, bun, mocha. */
const PASSED =
  /^[ \t]*Tests:?\s.*\b[1-9]\d* passed|\b[1-9]\d* passed\b.* in [\d.]+ ?s|^test result: ok\. [1-9]|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*no tests to run)|^(?:#|ℹ) pass [1-9]|^[ \t]*[1-9]\d* pass$|^[ \t]*[1-9]\d* passing\b/u
/** Lines that report that no test ran. */
const NONE_RAN =
  /\[no test files\]|no tests? (?:to run|ran|found|(?:were|was) found|files? found|executed|is available)|no tasks were run|\bran 0 tests|^(?:#|ℹ) tests 0$|^[ \t]*0 (?:passing|examples)\b|^test result: ok\. 0 passed/iu
const FAILED =
  /\b[1-9]\d* (?:failed|failing|fail|failures?|errors?)\b|^(?:#|ℹ) fail [1-9]|^test result: FAILED|^error: (?:test|\d+ targets?) failed|^[ \t]*FAIL\b|^--- FAIL|ELIFECYCLE|^npm (?:ERR!|error)/mu

const END_MAX = 8192
const LINE_MAX = 500

/** The last whole lines of the output, without lines that are too long for a summary. */
const lastLines = (printed: string): ReadonlyArray<string> => {
  const lines = printed
    .slice(-END_MAX)
    .replaceAll(COLOURS, "")
    .split(/[\r\n]+/u)
  return lines.slice(printed.length > END_MAX ? 1 : 0).filter((line) => line.length <= LINE_MAX)
}

/**
 * Whether the tests that a line runs passed. Undefined if it runs none, or if neither status nor output shows the result.
 * If another command hides the status (`npm test | tail`), the output decides, unless a pipe may have removed failures
 * from it (`npm test | grep passed`).
 */
export const testsPassed = ({ isError, line, output }: ShellRun): boolean | undefined => {
  // Avoids parsing most lines.
  const runs = MAY_TEST.test(line) ? commandsOf(line).filter(isTestRun) : []
  if (runs.length === 0) return undefined
  const printed = output()
  const lines = lastLines(printed)
  const isPassed = lines.some((line) => PASSED.test(line))
  if (!isError && runs.every(isProvenRun)) return isPassed || !lines.some((line) => NONE_RAN.test(line)) || undefined
  if (FAILED.test(printed.replaceAll(COLOURS, ""))) return false
  // A later command may have failed, as in `npm test && npm run lint`.
  if (isError) return isPassed ? undefined : false
  return isPassed && runs.every(({ shown }) => shown) ? true : undefined
}

const GIT_VALUES = new Set(["-C", "-c", "--git-dir", "--work-tree"])

/** Options with which `git commit` commits nothing. */
const NO_COMMIT = new Set(["--dry-run", "--porcelain", "--short", "--long", "-z", "--null", "--help", "-h"])

const isCommit = ({ words }: ShellCommand): boolean => {
  const [program, ...args] = unwrapped(words)
  const at = args.findIndex((arg, i) => !arg.startsWith("-") && !GIT_VALUES.has(args[i - 1] ?? ""))
  return program === "git" && args[at] === "commit" && !args.some((arg) => NO_COMMIT.has(arg))
}

/** `[main 1a2b3c4] message`, `[main (root-commit) 1a2b3c4] message`. */
const COMMITTED = /^[ \t]*\[[^\]\n\r\u2028\u2029]+ [0-9a-f]{7,40}\] /mu

/** Whether a commit was made, as the status or git's output shows. */
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
  const isStatus = (arg: string | undefined): boolean => arg === "--status" || arg === "-s"
  const isClosed = (arg: string, at: number): boolean =>
    /^(?:--status|-s)=closed$/u.test(arg) || (arg === "closed" && isStatus(args[at - 1]))
  return command === "update" && args.some(isClosed)
}

/** `✓ Closed gt-12: reason`. */
const CLOSED = /^[^\w\n\r\u2028\u2029]*Closed\s+[\w.-]+-[\w.-]+/mu

/** Whether a bead was closed by `bd` (the beads CLI) or `gt close`, which runs it. */
export const closedBead = ({ isError, line, output }: ShellRun): boolean => {
  const closings = line.includes("close") ? commandsOf(line).filter(isClosing) : []
  return closings.some(({ proven }) => proven && !isError) || (closings.length > 0 && CLOSED.test(output()))
}
