/** Shell lines, compared with bash: commands that the status should prove have run and succeeded. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import * as HostileText from "@pi-sessions/testing/steps/HostileText"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { commandsOf } from "../src/internal/shellCommands.ts"

/** The words of each command, with a star if the status of the line proves it. */
const brief = (line: string): ReadonlyArray<string> =>
  commandsOf(line).map(({ proven, words }) => `${words.join(" ")}${proven ? " *" : ""}`)

const EXAMPLES: ReadonlyArray<readonly [line: string, commands: ReadonlyArray<string>]> = [
  ["npm test", ["npm test *"]],
  ["cd app && npm test", ["cd app *", "npm test *"]],
  ["cd app; npm test", ["cd app", "npm test *"]],
  ["npm test; echo done", ["npm test", "echo done *"]],
  ["npm test 2>&1 | tail -5", ["npm test", "tail -5 *"]],
  ["npm test || true", ["npm test", "true"]],
  ["npm test &", ["npm test"]],
  ["CI=1 NODE_ENV=test npm test > out.log 2>&1", ["npm test *"]],
  ["echo 'npm test; git commit'", ["echo npm test; git commit *"]],
  ['git commit -m "don\'t; npm test"', ["git commit -m don't; npm test *"]],
  [
    'git commit -m "$(cat <<\'EOF\'\nIt\'s fixed ("at last")\nnpm test\nEOF\n)" && git push',
    ["git commit -m $ *", "git push *"]
  ],
  ["cat > a.txt <<EOF\nnpm test\nit's\nEOF\nnpm run lint", ["cat", "npm run lint *"]],
  ["npm test # git commit\n", ["npm test *"]],
  ["npm \\\n  test", ["npm test *"]],
  ["npm test &&\ngit commit -m x", ["npm test *", "git commit -m x *"]],
  ["if npm test; then git commit -m x; fi", ["npm test", "git commit -m x"]],
  ["for d in a b; do (cd $d && npm test); done", ["cd $d", "npm test"]],
  ["(cd app && npm test)", ["cd app", "npm test"]],
  ["! npm test", []],
  ["npm test; X=1", ["npm test"]],
  ["npm test; > log", ["npm test"]],
  ["[[ -d app && -f b ]] && npm test", ["npm test *"]],
  ["((1 + 1)) && npm test", ["npm test *"]],
  ["time -p npm test", ["npm test *"]],
  ["export A='b c' && npm test", ["export A='b c' *", "npm test *"]],
  ["cd app && exit 0; npm test", ["cd app", "exit 0", "npm test"]],
  ["[ -d app ] || exit 0\nnpm test", ["[ -d app ]", "exit 0", "npm test"]],
  ["npm test && exit 0", ["npm test *", "exit 0 *"]],
  ["exec npm test", ["exec npm test *"]],
  ["exec true; npm test", ["exec true", "npm test"]],
  ["command exit && npm test", ["command exit *", "npm test"]],
  ["trap 'exit 0' EXIT; npm test", ["trap exit 0 EXIT", "npm test"]],
  ["$LEAVE; npm test", ["$LEAVE", "npm test"]],
  ["set -n; npm test", ["set -n", "npm test"]],
  ["set -o noexec; npm test", ["set -o noexec", "npm test"]],
  ["set -euo pipefail; npm test", ["set -euo pipefail", "npm test *"]],
  ["npm() { true; }; npm test", ["npm test"]],
  ["echo `date; npm test` && ls", ["echo ` *", "ls *"]],
  ["echo 'never ends", []],
  ["echo $(never ends", []],
  ["", []]
]

/** The words of `echo` lines as bash splits them: a list for each line. */
const wordsOfBash = (lines: ReadonlyArray<string>): Array<ReadonlyArray<string>> => {
  const script = `show() { printf '%s\\0' show "$@"; printf '\\0'; }\n${lines.join("\n")}\n`
  const { stdout } = ChildProcess.spawnSync("bash", ["--norc"], {
    input: script,
    encoding: "utf8",
    env: { LC_ALL: "C" }
  })
  return stdout
    .split("\0\0")
    .slice(0, -1)
    .map((words) => words.split("\0"))
}

describe("commandsOf", () => {
  it("splits words as bash does at every kind of white space and control character", () => {
    // An argument cannot contain a null, and a newline ends a command.
    const characters = HostileText.blanks.filter((code) => code !== 0 && code !== 0x0a)
    const lines = characters.map((code) => `show a${String.fromCharCode(code)}b "${String.fromCharCode(code)}"`)
    const words = lines.map((line) => commandsOf(line)[0]?.words)
    assert.deepStrictEqual(words, wordsOfBash(lines))
    assert.isAbove(lines.length, 100)
  })

  it("returns nothing for lines that cannot be parsed in linear time", () => {
    const last = "\nnpm test"
    for (const line of ["a".repeat(262_144), "cat <<a ".repeat(1001), "echo " + "${a:-".repeat(33) + "}".repeat(33)]) {
      assert.deepStrictEqual(commandsOf(line + last), [], line.slice(0, 20))
    }
    assert.strictEqual(commandsOf("echo " + "$(a ".repeat(32) + ")".repeat(32) + last).length, 2)
  })

  it.each(EXAMPLES)("reads %j", (line, commands) => {
    assert.deepStrictEqual(brief(line), commands)
  })

  it.each<readonly [line: string, shown: boolean]>([
    ["npm test", true],
    ["npm test | tail -5 | tee log", true],
    ["npm test |& tail -n 5", true],
    ["npm test | cat; ls | head", true],
    ["npm test | grep passed", false],
    ["npm test | tee log | grep passed", false],
    ["npm test | head -3 | cat", false],
    ["npm test | tail -5 other", false],
    ["{ npm test; ls; } | tail", true],
    ["{ npm test; ls; } | grep passed", false]
  ])("detects whether the end of the output is shown by %j: %j", (line, shown) => {
    assert.strictEqual(commandsOf(line).find(({ words }) => words.join(" ").endsWith("npm test"))?.shown, shown)
  })

  it.effect("proves only commands that bash ran with status 0, if the status of the line is 0", () =>
    Effect.gen(function* () {
      const dir = yield* memoryFolder
      const log = Path.join(dir, "log")
      const setup = Path.join(dir, "setup")
      for (const [name, status] of Object.entries(PROGRAMS)) {
        const body = `echo "${name} $1 ${status}" >> ${log}`
        Fs.writeFileSync(Path.join(dir, name), `#!/bin/sh\n${body}\nexit ${status}\n`, { mode: 0o755 })
        // Functions are faster than programs. `exec` still runs the program.
        Fs.appendFileSync(setup, `${name}() { ${body}; return ${status}; }\n`)
      }
      let succeeded = 0
      let proven = 0
      for (let seed = 1; seed <= LINES; seed++) {
        const line = randomLine(SeededRandom.make(seed))
        Fs.writeFileSync(log, "")
        const env = { PATH: `${dir}:/usr/bin:/bin`, BASH_ENV: setup }
        const { status } = ChildProcess.spawnSync("bash", ["-c", `${line}\n`], { env, cwd: dir, encoding: "utf8" })
        const ran = Fs.readFileSync(log, "utf8").split("\n")
        if (status !== 0) continue
        const commands = commandsOf(line)
        if (commands.length === 0 && /good|fine/u.test(line) && !line.includes("!")) {
          // bash runs the lines before a syntax error.
          assert.notStrictEqual(ChildProcess.spawnSync("bash", ["-nc", `${line}\n`], { env }).status, 0, line)
        }
        succeeded++
        for (const command of commands) {
          const words = command.words.slice(command.words[0] === "exec" ? 1 : 0)
          if (!command.proven || !Object.hasOwn(PROGRAMS, words[0] ?? "")) continue
          proven++
          assert.include(ran, `${words.join(" ")} 0`, line)
        }
      }
      assert.isAbove(succeeded, LINES / 8)
      assert.isAbove(proven, LINES / 8)
    })
  )
})

const LINES = Dose.of("PI_SESSIONS_SHELL_LINES", { test: 200, campaign: 3000 })

/** Commands that exit the shell, or make it run nothing more. */
const LEAVING = [
  "exit 0",
  "exit",
  "return 0",
  "return",
  "exec fine x",
  "exec",
  "set -n",
  "set -o noexec",
  "command exit 0",
  "eval 'exit 0'",
  "trap 'exit 0' EXIT"
] as const

/** Commands that succeed and run no program. */
const NO_PROGRAM = ["X=1", "> /dev/null", "[[ a == a ]]", "((1))", "f() { bad 9; }"] as const

const COMPOUND = [
  "{ COMMAND; }",
  "if true; then COMMAND; fi",
  "if COMMAND; then fine a; else fine b; fi",
  "for a in 1 2; do COMMAND; done",
  "while COMMAND; do break; done",
  "case a in a) COMMAND ;; *) bad b ;; esac",
  "time COMMAND"
] as const

const PROGRAMS = { good: 0, fine: 0, bad: 1 }

/** Commands, each with its own argument, in lists, pipelines and compound commands. */
const randomLine = (random: SeededRandom.SeededRandom): string => {
  const commands = 1 + random.int(5)
  let line = random.chance(0.1) ? "X='a b' " : ""
  for (let at = 0; at < commands; at++) {
    if (at > 0) line += random.pick([" && ", " || ", "; ", " | ", "\n", " & ", " &&\n", ";\n", " |& "])
    const argument = random.pick([`${at}`, `'${at}'`, `"${at}"`, `\\${at}`, `"${at}" 2>&1`, `${at} > /dev/null`])
    const command = `${random.pick(["good", "fine", "bad"])} ${argument}`
    const kind = random.int(20)
    if (kind < 2) line += random.pick(LEAVING)
    else if (kind < 4) line += random.pick(NO_PROGRAM)
    else if (kind === 4) line += random.pick(COMPOUND).replaceAll("COMMAND", command)
    else line += random.chance(0.1) ? `! ${command}` : random.chance(0.1) ? `(${command})` : command
    if (random.chance(0.1)) line += " <<'END'\nit's; bad 9\nEND\n"
  }
  return line + random.pick(["", "", "", "\n", " # it's bad", " &"])
}
