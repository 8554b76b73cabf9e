/** Predicates of quality: examples, and properties of random sessions. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { SessionDropReason } from "../src/ExtractReport.ts"
import * as QualityPredicate from "@pi-sessions/samples/QualityPredicate"
import * as SessionQuality from "@pi-sessions/samples/SessionQuality"
import {
  assistant,
  call,
  file,
  header,
  linked,
  message,
  result,
  sample,
  samples,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const factsOf = (lines: string) => SessionQuality.factsOf(Session.readText(lines).tree.getBranch())
const facts = (...entries: ReadonlyArray<JsonObject>) => factsOf(file(header(), ...linked(entries)))
const names = (...entries: ReadonlyArray<JsonObject>) => SessionQuality.predicatesOf(facts(...entries))

let calls = 0
/** An answer with a call, and its result. */
const did = (name: string, args: JsonObject, output = "", isError = false): ReadonlyArray<JsonObject> => {
  const id = `c${++calls}`
  return [assistant([call(id, name, args)], { stopReason: "toolUse" }), result(id, output, name, { isError })]
}
const ran = (command: string, output = "", isError = false) => did("bash", { command }, output, isError)
const edited = did("edit", { path: "a.ts", edits: [] })
const said = (words: string) => assistant([text(words)])

describe("tests that passed behind an edit", () => {
  const run = (command: string, output = "", isError = false) =>
    facts(user("fix it"), ...edited, ...ran(command, output, isError), said("done")).tests_passed_after_edit

  it.each([
    "npm test",
    "npm run test:unit -- --run",
    "pnpm --filter @x/core test",
    "cd app && CI=1 yarn test 2>&1",
    "npx vitest run test/A.test.ts",
    "timeout 60 npx -y jest",
    "pnpm exec playwright test",
    "bun test",
    "node --test",
    "python3 -m pytest -q",
    "uv run pytest tests/",
    ".venv/bin/pytest",
    "cargo test -p core",
    "go test ./...",
    "make -C sub test",
    "./gradlew :app:test",
    "npm test && git commit -m done",
    "pnpm run test:core:unit",
    "pnpm -w test",
    "npm -w test test",
    "uv run --all-groups pytest",
    "timeout -k 5 60 npm test",
    "npx -y -p vitest vitest run",
    "uv run --with pytest-cov pytest -n 4",
    "env -u CI pnpm vitest related a.ts",
    "node --import tsx --test a.test.ts",
    "python -W ignore -m unittest",
    "make -j4 test-unit",
    "just test core",
    "nx test app",
    "nx run app:test:ci",
    "nx run-many -p a b -t lint test",
    "nx affected --targets=build,test",
    "turbo run build test --filter test-utils",
    "./gradlew test -x lint",
    "mvn -q verify -DskipTests=false",
    "cargo nextest run",
    "tox -e py39",
    "set -e; npm test"
  ])("are seen in a run of %j that ended well", (command) => {
    assert.isTrue(run(command))
    assert.isFalse(run(command, "1 failed", true))
  })

  it.each([
    "npm install test",
    "echo npm test",
    "git commit -m 'npm test'",
    "cat > run.sh <<EOF\nnpm test\nEOF",
    "npm run build",
    "pytest --collect-only",
    "cargo build --tests",
    "make build",
    "ls test",
    "npm -w test run build",
    "npm run test:clean",
    "npm run test-utils",
    "npm test -- --help",
    "./gradlew build -x test",
    "./gradlew check -x test",
    "./gradlew -m test",
    "mvn verify -DskipTests",
    "mvn verify -D skipTests=true",
    "mvn test -Dmaven.test.skip",
    "mvn test -Dmaven.test.failure.ignore=true",
    "make -n test",
    "make -kn test",
    "make -i test",
    "make test-clean",
    "make check-deps",
    "make -C test build",
    "just build test",
    "nx build test-utils",
    "nx run-many --projects test -t build",
    "vitest list",
    "vitest bench",
    "npx -y vitest init browser",
    "npx -p vitest tsc",
    "jest --showConfig",
    "jest --clearCache",
    "go test -c ./pkg",
    "go test -list . ./...",
    "go test -run '^$' -bench . ./...",
    "cargo nextest list",
    "cargo test --no-run",
    "ctest -N",
    "ctest --show-only=json-v1",
    "tox -l",
    "tox -e lint",
    "pytest --fixtures",
    "pytest --markers",
    "rspec --dry-run",
    "uv run --with pytest python script.py",
    "uv run --what pytest",
    "python tool.py -m pytest",
    "node tool.js --test",
    "command -v pytest",
    "pip install pytest && which pytest",
    // They end well where there is nothing to run.
    "npm test --if-present",
    "npm run test --if-present",
    "npx vitest --passWithNoTests",
    // Nothing says that they ran.
    "git diff --quiet && exit 0; npm test",
    "[ -f package.json ] || exit 0\nnpm test",
    "trap 'exit 0' EXIT; npm test",
    "exec true; npm test",
    "set -n; npm test",
    // Another command decides the status, and nothing was printed.
    "npm test | tail -3",
    "npm test; true",
    "npm test || true",
    "npm test &"
  ])("are not seen in %j", (command) => assert.isFalse(run(command)))

  it.each([
    ["npx vitest run | tail -5", " Test Files  2 passed (2)\n      Tests  12 passed (12)\n"],
    ["npm test 2>&1 | tail", "Tests:       3 passed, 3 total\n"],
    ["pytest -q; echo done", "..........\n10 passed in 0.12s\ndone\n"],
    ["cargo test || true", "test result: ok. 3 passed; 0 failed; 0 ignored\n"],
    ["go test ./... | cat", "ok  \tgithub.com/x/y\t0.012s\n"],
    ["node --test | cat", "\u2139 tests 4\n\u2139 pass 4\n\u2139 fail 0\n"]
  ])("are seen in what %j printed", (command, output) => {
    assert.isTrue(run(command, output))
    assert.isFalse(run(command, `${output}\n2 failed\n`))
    assert.isFalse(run(command, "npm ERR! Test failed.  See above for more details."))
  })

  it.each([
    ["go test ./...", "?   \tx/a\t[no test files]\n", "ok  \tx/b\t0.1s\n"],
    ["go test -run Nothing ./...", "ok  \tx/a\t0.1s [no tests to run]\n", "ok  \tx/b\t(cached)\n"],
    [
      "cargo test nothing",
      "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 5 filtered out\n",
      "test result: ok. 1 passed"
    ],
    ["npx vitest --passWithNoTests", "No test files found, exiting with code 0\n", "      Tests  12 passed (12)\n"],
    ["npm test --if-present", "", "Tests:       3 passed, 3 total\n"],
    ["node --test", "\u2139 tests 0\n\u2139 pass 0\n", "\u2139 tests 2\n\u2139 pass 2\n"],
    ["python -m unittest", "Ran 0 tests in 0.000s\n\nOK\n", "2 passed in 0.1s"],
    ["npx mocha", "  0 passing (1ms)\n", "  1 passing (1ms)\n"]
  ])("are not seen in %j where it says %j, but where %j stands with it", (command, none, some) => {
    assert.isFalse(run(command, none))
    assert.isTrue(run(command, none + some))
  })

  it.each([
    ["go test ./... | grep ^ok", "ok  \tx/a\t0.1s\n"],
    ["go test ./... 2>&1 | head -3", "ok  \tx/a\t0.1s\nok  \tx/b\t0.1s\nok  \tx/c\t0.1s\n"],
    ["npx mocha | head -40", "  12 passing (3s)\n"],
    ["cargo test | grep 'test result: ok'", "test result: ok. 3 passed; 0 failed\n"],
    ["npm test | tee log | sed s/failed//", "Tests:       3 passed, 3 total\n"]
  ])("are not seen in %j, which may cut away what failed", (command, output) => {
    assert.isFalse(run(command, output))
    assert.isTrue(run(command.replace(/\|[^|]*$/u, "| tail -40"), output))
  })

  it("are read from the last lines, without lines that are too long for a summary", () => {
    const passed = "Tests:       3 passed, 3 total\n"
    const noise = "a line of the log\n".repeat(1000)
    assert.isTrue(run("npm test | cat", noise + passed))
    assert.isFalse(run("npm test | cat", passed + noise))
    assert.isFalse(run("npm test | cat", `${" ".repeat(600)}${passed}`))
    assert.isFalse(run("npm test | cat", `1 failed\n${noise}${passed}`))
    assert.isFalse(run("npm test | cat", `${passed}error: 1 target failed:\n    \`--lib\`\n`))
  })

  it("are seen behind eight programs that run others, not behind more", () => {
    for (const [wrapper, command] of [
      ["nohup", "npm test"],
      ["npm", "npm test"],
      ["npm workspace a", "npm test"]
    ] as const) {
      assert.isTrue(run(`${`${wrapper} `.repeat(4)}${command}`), wrapper)
      for (const times of [20, 12_000]) assert.isFalse(run(`${`${wrapper} `.repeat(times)}${command}`), wrapper)
    }
  })

  it("need an edit that succeeded before them", () => {
    const failed = did("edit", { path: "a.ts", edits: [] }, "no such text", true)
    assert.isFalse(facts(user("go"), ...ran("npm test"), said("fine")).tests_passed_after_edit)
    assert.isFalse(facts(user("go"), ...failed, ...ran("npm test"), said("fine")).tests_passed_after_edit)
    assert.isFalse(facts(user("go"), ...ran("npm test"), ...edited, said("done")).tests_passed_after_edit)
    const together = assistant([call("w", "write", { path: "a" }), call("t", "bash", { command: "npm test" })])
    assert.isFalse(facts(user("go"), together, result("w", "ok", "write"), result("t", "ok")).tests_passed_after_edit)
    assert.isTrue(facts(user("go"), ...edited, ...failed, ...ran("npm test"), said("ok")).tests_passed_after_edit)
  })

  it("are what the last run of them says", () => {
    const [bad, good] = [ran("npm test", "1 failed", true), ran("npm test", "ok")]
    assert.isTrue(facts(user("go"), ...edited, ...bad, ...edited, ...good).tests_passed_after_edit)
    assert.isFalse(facts(user("go"), ...edited, ...good, ...edited, ...bad).tests_passed_after_edit)
  })

  it("come after the last edit that succeeded", () => {
    const [good, unknown] = [ran("npm test", "ok"), ran("npm test | tail", "...")]
    const failed = did("edit", { path: "a.ts", edits: [] }, "no such text", true)
    assert.isFalse(facts(user("go"), ...edited, ...good, ...edited, said("done")).tests_passed_after_edit)
    assert.isFalse(facts(user("go"), ...edited, ...good, ...edited, ...unknown).tests_passed_after_edit)
    assert.isTrue(facts(user("go"), ...edited, ...good, ...edited, ...good).tests_passed_after_edit)
    assert.isTrue(facts(user("go"), ...edited, ...good, ...failed, ...unknown).tests_passed_after_edit)
    // Nobody knows which of both was first.
    const together = assistant([call("w", "write", { path: "a" }), call("t", "bash", { command: "npm test" })])
    const [written, tested] = [result("w", "ok", "write"), result("t", "ok")]
    assert.isFalse(facts(user("go"), ...edited, together, written, tested).tests_passed_after_edit)
    assert.isFalse(facts(user("go"), ...edited, together, tested, written).tests_passed_after_edit)
  })
})

describe("a commit", () => {
  it.each([
    ["git commit -m x", "", true],
    ["git add -A && git commit -m \"$(cat <<'EOF'\nIt's done\nEOF\n)\"", "", true],
    ["git -C app -c user.name=x commit -am x", "", true],
    ["git commit -m x | tail -1", "", false],
    ["git commit -m x; git status", "[main 1a2b3c4] x\n 1 file changed\n", true],
    ["git commit --dry-run", "", false],
    ["git commit --porcelain", "M  a.ts\n", false],
    ["git commit --short", "M  a.ts\n", false],
    ["git commit --long", "On branch main\n", false],
    ["git commit -h", "usage: git commit\n", false],
    ["git diff --cached --quiet && exit 0; git commit -m x", "", false],
    ["git diff --cached --quiet && exit 0; git commit -m x", "[main 1a2b3c4] x\n", true],
    ["test -f x && return 0; git commit -m x", "", false],
    ["git log --grep commit", "", false],
    ["echo git commit", "[main 1a2b3c4] x\n", false]
  ])("by %j, which printed %j: %j", (command, output, is) => {
    assert.strictEqual(facts(user("go"), ...ran(command, output)).committed, is)
  })

  it("that failed is none, and one before a push that failed is one", () => {
    assert.isFalse(facts(user("go"), ...ran("git commit -m x", "nothing to commit", true)).committed)
    const pushed = ran("git commit -m x && git push", "[main (root-commit) 1a2b3c4] x\nfatal: no remote", true)
    assert.isTrue(facts(user("go"), ...pushed).committed)
  })
})

describe("a bead that was closed", () => {
  it.each([
    ["bd close gt-12 --reason done", "", true],
    ["gt close gt-12", "", true],
    ["bd update gt-12 --status closed", "", true],
    ["bd update gt-12 --status=closed --json", "", true],
    ["bd update gt-12 -s closed", "", true],
    ["bd update gt-12 --status in_progress", "", false],
    ["bd update gt-12 --notes 'then set --status closed'", "", false],
    ["bd close gt-12 | cat", "\u2713 Closed gt-12: done\n", true],
    ["bd show gt-12 | grep close", "", false],
    ["bd close --help", "", false]
  ])("by %j, which printed %j: %j", (command, output, is) => {
    assert.strictEqual(facts(user("go"), ...ran(command, output)).bead_closed, is)
    assert.isFalse(facts(user("go"), ...ran(command, "error", true)).bead_closed)
  })
})

describe("a correction", () => {
  const corrections = (words: string, before = "I renamed it.") =>
    facts(user("rename it"), said(before), user(words)).corrections

  it.each([
    "no, the other file",
    "No.",
    "Nope, that was fine before",
    "No \u2014 use pnpm",
    "no that's not what I asked for",
    "That's wrong",
    "that\u2019s not right, look again",
    "this is not what I meant",
    "Stop.",
    "stop adding comments",
    "don't touch the tests",
    "Please don't do that",
    "undo that",
    "revert the last change",
    "wait, no",
    "You broke the build",
    "I said pnpm",
    "it doesn't work",
    "> no, not that one"
  ])("is %j", (words) => assert.strictEqual(corrections(words), 1))

  it.each([
    "no problem, go on",
    "no worries",
    "No, thanks",
    "no, that's all",
    "nothing else",
    "now the tests",
    "notice the typo in a.ts",
    "not bad! go on",
    "stop the server and start it again",
    "don't forget the changelog",
    "don't worry about it",
    "don't we need the index too?",
    "what does revert do?",
    "The test says: no, wrong",
    "great, thank you"
  ])("is not %j", (words) => assert.strictEqual(corrections(words), 0))

  it("is no answer to a question, and no first word", () => {
    assert.strictEqual(corrections("no", "Renamed. Shall I commit it?"), 0)
    assert.strictEqual(facts(user("no, stop"), said("hello")).corrections, 0)
    assert.strictEqual(facts(user("go"), said("done"), user("thanks"), user("no, wrong")).corrections, 0)
  })

  it("may come while the agent works, or after it was stopped", () => {
    assert.strictEqual(facts(user("go"), ...ran("ls"), user("stop, wrong directory")).corrections, 1)
    const stopped = assistant([text("I del")], { stopReason: "aborted" })
    assert.strictEqual(facts(user("go"), stopped, user("no, keep them")).corrections, 1)
  })
})

describe("repeated calls", () => {
  const ls = () => ran("ls")

  it("are the longest row of one call", () => {
    assert.strictEqual(facts(user("go"), ...ls(), ...ls(), ...ls(), said("?")).repeated_calls, 3)
    assert.strictEqual(facts(user("go"), ...ls(), ...ran("pwd"), ...ls(), ...ls()).repeated_calls, 2)
    assert.strictEqual(facts(user("go"), ...ls(), user("again"), ...ls(), user("again"), ...ls()).repeated_calls, 1)
    assert.strictEqual(facts(user("go"), assistant([call("a"), call("b"), call("c")])).repeated_calls, 3)
    assert.strictEqual(facts(user("go")).repeated_calls, 0)
  })

  it("have the same arguments, in whatever order", () => {
    const first = did("edit", { path: "a", text: "x" })
    const turned = did("edit", { text: "x", path: "a" })
    assert.strictEqual(facts(user("go"), ...first, ...turned, ...first).repeated_calls, 3)
    assert.strictEqual(facts(user("go"), ...first, ...did("edit", { path: "a", text: "y" })).repeated_calls, 1)
  })
})

describe("errors", () => {
  const bad = (tool = "bash") => did(tool, { command: "x" }, "no", true)
  const good = (tool = "bash") => did(tool, { command: "y" })

  it("count as recovered where the tool works again before the user speaks", () => {
    const { error_rate, recovered_errors, tool_calls, tool_errors } = facts(
      user("go"),
      ...bad(),
      ...bad(),
      ...good(),
      ...bad("edit"),
      ...good(),
      user("and?"),
      ...good("edit")
    )
    assert.deepStrictEqual(
      { tool_calls, tool_errors, recovered_errors },
      { tool_calls: 6, tool_errors: 3, recovered_errors: 2 }
    )
    assert.strictEqual(error_rate, 1 / 6)
  })

  it("are too many where three at least and more than the share are left", () => {
    assert.deepStrictEqual(names(user("go"), ...bad(), ...bad(), said("I give up")), [])
    assert.deepStrictEqual(names(user("go"), ...bad("a"), ...bad("b"), ...bad("c"), said("I give up")), ["error_rate"])
    const many = [1, 2, 3, 4, 5, 6, 7].flatMap(() => good("d"))
    const three = facts(user("go"), ...bad("a"), ...bad("b"), ...bad("c"), ...many)
    assert.strictEqual(three.error_rate, 0.3)
    const has = (limit?: number) => SessionQuality.predicatesOf(three, limit).includes("error_rate")
    assert.deepStrictEqual([has(), has(0.29), has(0.3), has(0)], [false, true, false, true])
  })

  it("of answers that were aborted count for nothing", () => {
    const aborted = assistant([call("a", "bash", { command: "git commit -m x" })], { stopReason: "aborted" })
    const { committed, ended, tool_calls, tool_errors } = facts(user("go"), aborted, result("a", "[main 1a2b3c4] x"))
    assert.deepStrictEqual(
      { committed, ended, tool_calls, tool_errors },
      { committed: false, ended: "abort", tool_calls: 0, tool_errors: 0 }
    )
  })
})

it("finds how a conversation ended, whatever follows its last message", () => {
  const label = { type: "label", targetId: "e1", label: "x" }
  const ended = (...entries: ReadonlyArray<JsonObject>) => facts(...entries, label).ended
  assert.strictEqual(ended(), "nothing")
  assert.strictEqual(ended(user("go")), "user")
  assert.strictEqual(ended(user("go"), said("done")), "answer")
  assert.strictEqual(ended(user("go"), assistant([call("a")])), "calls")
  assert.strictEqual(ended(user("go"), ...ran("ls")), "results")
  assert.strictEqual(ended(user("go"), assistant([], { stopReason: "error" })), "error")
  assert.strictEqual(ended(user("go"), assistant([], { stopReason: "aborted" })), "abort")
  assert.strictEqual(
    ended(user("go"), said("x"), { type: "custom_message", customType: "mail", content: "m" }),
    "answer"
  )
  const mark = {
    type: "custom_message",
    customType: "claude-code.interruption",
    content: "[Request interrupted by user]"
  }
  assert.strictEqual(ended(user("go"), ...ran("ls"), mark), "abort")
  const command = message({ role: "bashExecution", command: "ls", output: "", exitCode: 0, timestamp: 1 })
  assert.strictEqual(ended(user("go"), said("done"), command), "answer")
})

it("takes its time with no text, however odd", () => {
  const blanks = `${"\n \t".repeat(200_000)}x`
  const deep = `npm test "${"$(".repeat(100_000)}`
  const many = `npm test | tail; ${"a && ".repeat(20_000)}b`
  const found = facts(
    user("go"),
    ...edited,
    ...ran("npm test | tail", blanks),
    ...ran("npm test | tail", "1 passed ".repeat(60_000)),
    ...ran("npm test | tail", `Tests: ${"1".repeat(200_000)}`),
    ...ran("npm test | tail", "Tests: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n".repeat(20_000)),
    ...ran("git commit -m x | tail", blanks),
    ...ran("bd close gt-1 | tail", blanks),
    ...ran(deep),
    ...ran(many),
    said(`${"? ".repeat(200_000)}x`),
    user(`no, ${blanks}`)
  )
  assert.deepStrictEqual(
    [found.tests_passed_after_edit, found.committed, found.bead_closed, found.corrections],
    [false, false, false, 1]
  )
})

it("pairs calls without ids by their tools, in order", () => {
  const both = assistant([call("", "edit", { path: "a" }), call("", "bash", { command: "npm test" })])
  const test = assistant([call("", "bash", { command: "npm test" })])
  const found = facts(
    user("go"),
    both,
    result("", "no", "bash", { isError: true }),
    result("", "done", "edit"),
    test,
    result("", "ok")
  )
  assert.deepStrictEqual([found.tool_errors, found.recovered_errors, found.tests_passed_after_edit], [1, 1, true])
})

/** A conversation of a model that loops, fails, repairs, and of a user who is not always pleased. */
const randomEntries = (random: SeededRandom.SeededRandom): ReadonlyArray<JsonObject> => {
  const entries = [user("go")]
  for (let step = 0; step < 12; step++) {
    entries.push(
      ...random.pick<() => ReadonlyArray<JsonObject>>([
        () => ran(random.pick(["ls", "npm test", "git commit -m x", "bd close gt-1"]), "", random.chance(0.3)),
        () => did(random.pick(["edit", "write"]), { path: random.pick(["a", "b"]) }, "", random.chance(0.3)),
        () => [said("done"), user(random.pick(["no, wrong", "thanks", "go on"]))],
        () => [assistant([text("I")], { stopReason: random.pick(["aborted", "error"]) }), user("again")]
      ])()
    )
  }
  return entries
}

describe("of any session, facts", () => {
  it("do not change with branches that are not its own", () => {
    for (let seed = 1; seed <= 100; seed++) {
      const random = SeededRandom.make(seed)
      const own = linked(randomEntries(random))
      const others = linked(randomEntries(random)).map((entry, at) => ({
        ...entry,
        id: `o${at}`,
        parentId: at === 0 ? `e${1 + random.int(own.length)}` : `o${at - 1}`
      }))
      // The abandoned branch is before the last entry of the active one.
      const mixed = file(header(), ...own.slice(0, -1), ...others, ...own.slice(-1))
      assert.deepStrictEqual(factsOf(mixed), factsOf(file(header(), ...own)), `seed ${seed}`)
      const first = samples(mixed).find(({ metadata }) => metadata.active)
      const quality = SessionQuality.predicatesOf(factsOf(mixed))
      if (first !== undefined) assert.deepStrictEqual(first.metadata.quality, quality, `seed ${seed}`)
    }
  })

  it("add up", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const entries = randomEntries(SeededRandom.make(seed))
      const found = facts(...entries)
      const results = entries.filter(({ message }) => isOf(message, "toolResult"))
      const errors = results.filter(({ message }) => isObject(message) && message["isError"] === true)
      assert.strictEqual(found.tool_calls, results.length)
      assert.strictEqual(found.tool_errors, errors.length)
      assert.isAtMost(found.recovered_errors, found.tool_errors)
      assert.isAtMost(found.error_rate, 1)
      assert.isAtMost(found.repeated_calls, results.length)
      const rejections = entries.filter(
        ({ message }) => isOf(message, "user") && JSON.stringify(message).includes("no, wrong")
      )
      assert.strictEqual(found.corrections, rejections.length)
      // One word more of the user changes how it ended, and nothing else.
      assert.deepStrictEqual(facts(...entries, user("thanks")), { ...found, ended: "user" })
    }
  })
})

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null
const isOf = (value: unknown, role: string): boolean => isObject(value) && value["role"] === role

it("is in each sample's metadata; of an abandoned branch up to its last answer", () => {
  const branches = file(
    header(),
    ...linked([
      user("go"),
      ...ran("git commit -m x"),
      said("done"),
      { ...user("no, wrong"), parentId: "e1" },
      said("sorry"),
      ...ran("bd close gt-1"),
      said("closed")
    ])
  )
  assert.deepStrictEqual(
    samples(branches).map(({ metadata }) => [metadata.active, metadata.quality]),
    [
      [true, ["bead_closed"]],
      [false, ["committed"]]
    ]
  )
  assert.strictEqual(sample(branches).metadata.harness, "pi")
})

it("refuses first, then requires, and has a reason of the report for each", () => {
  const reason = QualityPredicate.refusalOf
  assert.strictEqual(reason(["committed", "corrected"], {}), undefined)
  assert.strictEqual(reason(["aborted", "corrected"], { refuse: ["corrected", "aborted"] }), "quality_aborted")
  assert.strictEqual(reason(["corrected"], { refuse: ["corrected"], require: ["committed"] }), "quality_corrected")
  assert.strictEqual(reason([], { refuse: ["corrected"], require: ["tests_passed", "committed"] }), "without_committed")
  assert.strictEqual(reason(["committed"], { require: ["committed"] }), undefined)
  for (const refusal of QualityPredicate.QUALITY_REFUSALS) {
    assert.isTrue(Result.isSuccess(Schema.decodeUnknownResult(SessionDropReason)(refusal)), refusal)
  }
})
