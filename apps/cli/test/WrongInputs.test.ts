/** Every flag that names a file or directory, with every kind of wrong file: the error names it, and nothing is written. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { fixtures } from "./support/storeFolder.ts"

const model = Path.join(fixtures, "models", "chatml-marked")

/** Makes a wrong input at the path `bad`; `says` matches the error. */
interface Fault {
  readonly make: (bad: string) => void
  readonly says?: RegExp
}

const bytes =
  (content: string | Uint8Array) =>
  (bad: string): void =>
    Files.writeFileSync(bad, content)

const DIRECTORY: Fault = { make: (bad) => Files.mkdirSync(bad) }
const FILE: Fault = { make: bytes("a file\n") }

const faults = {
  missing: { make: () => {}, says: /no such/ },
  directory: { ...DIRECTORY, says: /directory|not a regular file|cannot be read as a file/ },
  empty: { make: bytes("") },
  blank: { make: bytes(" \r\n\n") },
  binary: { make: bytes(Buffer.from([0x41, 0x0a, 0x42, 0x00, 0xff, 0x10])), says: /line 2, byte 3: a NUL byte/ },
  "no UTF-8": { make: bytes(Buffer.from("caf\xe9 au lait\n", "latin1")), says: /line 1, byte 3: it is no UTF-8/ },
  "broken JSON": { make: bytes('{\n "a": 1,\n "b" 2}\n'), says: /line [23], byte \d+: / },
  "JSON that breaks off": { make: bytes('{"a": [1, 2'), says: /byte 11: it breaks off|no / },
  "another shape": { make: bytes('{"nothing": {"of": ["use"]}}\n') },
  "a number": { make: bytes("42\n") }
} satisfies { readonly [name: string]: Fault }
type FaultName = keyof typeof faults

const TEXT: ReadonlyArray<FaultName> = ["missing", "directory", "empty", "blank", "binary", "no UTF-8"]
const JSON_FILE: ReadonlyArray<FaultName> = [
  ...TEXT,
  "broken JSON",
  "JSON that breaks off",
  "another shape",
  "a number"
]
const LINES = JSON_FILE.filter((name) => name !== "binary" && name !== "no UTF-8")

const extract = ["extract", "--sessions", "s.jsonl", "--out", "out"]
const keyed = [...extract, "--redaction-key", "key"]

/** A call with `BAD` for the wrong path, the faults to try, and exit statuses other than 1. */
interface Row {
  readonly args: ReadonlyArray<string>
  readonly faults: ReadonlyArray<FaultName>
  readonly exit?: { readonly [Name in FaultName]?: number }
}

/** A missing file exits 2. */
const ABSENT = { missing: 2 }

const rows: ReadonlyArray<Row> = [
  { args: [...extract, "--system", "BAD"], faults: TEXT, exit: ABSENT },
  { args: [...extract, "--system", "witness=BAD"], faults: TEXT, exit: ABSENT },
  { args: [...extract, "--tools", "BAD"], faults: JSON_FILE, exit: ABSENT },
  // A line of a list may be a number; it is reported as no secret.
  {
    args: [...extract, "--secrets-from", "BAD"],
    faults: JSON_FILE.filter((name) => name !== "a number"),
    exit: ABSENT
  },
  { args: [...extract, "--marks", "BAD"], faults: JSON_FILE, exit: ABSENT },
  { args: [...extract, "--threads", "BAD"], faults: LINES.filter((name) => name !== "directory") },
  { args: [...extract, "--redaction-key", "BAD"], faults: JSON_FILE.filter((name) => name !== "missing") },
  {
    args: [...keyed, "--plan", "BAD", "--shard", "1/1"],
    faults: JSON_FILE,
    exit: { "another shape": 2, "a number": 2 }
  },
  {
    args: ["merge", "--sessions", "s.jsonl", "--redaction-key", "key", "--out", "out", "--plan", "BAD", "shard"],
    faults: JSON_FILE,
    exit: { "another shape": 2, "a number": 2 }
  },
  { args: [...keyed, "--plan", "BAD"], faults: ["directory", "binary"], exit: { binary: 2 } },
  { args: ["hydrate", "--thread", "BAD", "--out", "out.jsonl"], faults: JSON_FILE },
  {
    args: ["view", "s.jsonl", "--out", "out.html", "--marks", "BAD"],
    faults: JSON_FILE.filter((n) => n !== "missing")
  },
  {
    args: ["view", "s.jsonl", "--out", "out.html", "--secrets-from", "BAD"],
    faults: JSON_FILE.filter((name) => name !== "a number"),
    exit: ABSENT
  },
  { args: ["view", "s.jsonl", "--redaction-key", "key", "--out", "BAD"], faults: ["directory"] },
  { args: ["hydrate", "--thread", "thread.jsonl", "--out", "BAD"], faults: ["directory"] },
  { args: ["fork", "s.jsonl", "--out", "BAD"], faults: ["directory"] },
  { args: ["store", "export", "s.jsonl", "--out", "BAD"], faults: ["directory"] },
  { args: ["validate", "--format", "messages", "BAD"], faults: ["missing", "directory"], exit: ABSENT }
]

/** Flags that name directories. */
const directories: ReadonlyArray<{
  readonly args: ReadonlyArray<string>
  /** Exit statuses for a missing directory, a file in its place, and an empty directory; undefined if that is valid. */
  readonly exits: readonly [missing: number | undefined, file: number | undefined, empty: number | undefined]
}> = [
  { args: [...extract, "--town", "BAD"], exits: [1, 1, undefined] },
  { args: [...extract, "--threads", "BAD"], exits: [1, 1, 1] },
  { args: [...extract, "--tokenizer", "BAD"], exits: [2, 1, 1] },
  { args: ["extract", "--sessions", "s.jsonl", "--out", "BAD"], exits: [undefined, 1, undefined] },
  { args: ["stats", "--sessions", "s.jsonl", "--max-tokens", "100", "--tokenizer", "BAD"], exits: [2, 1, 1] },
  { args: ["show", "s.jsonl", "--as", "tokens", "--tokenizer", "BAD"], exits: [2, 1, 1] },
  { args: ["validate", "--format", "messages", "lines.jsonl", "--model", "BAD"], exits: [2, 1, 1] },
  { args: ["hydrate", "--thread", "thread.jsonl", "--out", "out.jsonl", "--cwd", "BAD"], exits: [1, 1, undefined] },
  { args: ["hydrate", "--thread", "thread.jsonl", "--session-dir", "BAD"], exits: [undefined, 1, undefined] },
  { args: ["fork", "s.jsonl", "--session-dir", "BAD"], exits: [undefined, 1, undefined] }
]

/** Names and contents of all files of a folder. */
const contents = (folder: string): ReadonlyArray<readonly [string, string]> =>
  Files.readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => [Path.join(entry.parentPath, entry.name), entry] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, entry]) => [path, entry.isFile() ? Files.readFileSync(path, "latin1") : "directory"] as const)

/** A folder with the files that the calls need. */
const folder = Effect.map(temporaryFolder, (cwd) => {
  Files.copyFileSync(Path.join(fixtures, "sessions/project/branches.jsonl"), Path.join(cwd, "s.jsonl"))
  Files.copyFileSync(Path.join(fixtures, "threads/raw-lines.jsonl"), Path.join(cwd, "thread.jsonl"))
  Files.writeFileSync(Path.join(cwd, "key"), `${"0".repeat(64)}\n`)
  Files.writeFileSync(Path.join(cwd, "lines.jsonl"), "{}\n")
  return cwd
})

/** Runs a call with a wrong input, and checks its result. */
const refused = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  { make, says }: Fault,
  exit: number,
  name: string
) {
  const cwd = yield* folder
  const bad = Path.join(cwd, "bad.input")
  make(bad)
  const before = contents(cwd)
  const state = { XDG_STATE_HOME: Path.join(cwd, "state"), HOME: cwd }
  const { status, stderr, stdout } = yield* call(
    args.map((arg) => arg.replace("BAD", "bad.input")),
    cwd,
    false,
    state
  )
  const what = `${args.join(" ")} with ${name}: ${stderr}`
  assert.deepStrictEqual([status, stdout], [exit, ""], what)
  assert.include(stderr, bad, what)
  if (says !== undefined) assert.match(stderr, says, what)
  assert.notMatch(stderr, /BadResource|FileSystem\.|should not have happened|\n\s+at /u, what)
  assert.deepStrictEqual(contents(cwd), before, what)
})

describe("a wrong input", () => {
  for (const { args, exit = {}, faults: names } of rows) {
    it.live(`ends ${args.join(" ")}`, () =>
      Effect.forEach(
        names,
        (name) => {
          const isRefusedOtherwise = ["--redaction-key", "hydrate", "--plan"].some((arg) => args.includes(arg))
          // These errors name what is expected, without a place.
          const fault: Fault = isRefusedOtherwise ? { make: faults[name].make } : faults[name]
          return refused(args, fault, exit[name] ?? 1, name)
        },
        { discard: true }
      )
    )
  }

  for (const { args, exits } of directories) {
    it.live(`ends ${args.join(" ")} if a directory is expected`, () =>
      Effect.forEach(
        [faults.missing, FILE, DIRECTORY],
        (fault, at) =>
          exits[at] === undefined
            ? Effect.void
            : refused(args, { make: fault.make }, exits[at], `directory fault ${at}`),
        { discard: true }
      )
    )
  }

  it.live("is not a file with a byte order mark and Windows line ends", () =>
    Effect.gen(function* () {
      const tools = '[\r\n{"name": "bash", "description": "runs", "parameters": {}}\r\n]\r\n'
      const accepted: ReadonlyArray<readonly [flag: string, content: string]> = [
        ["--system", "You are careful.\r\n"],
        ["--tools", tools],
        ["--secrets-from", "API_KEY=k9Xq2Lw8Rt5Yp1\r\n"],
        ["--secrets-from", '{"key":\r\n "k9Xq2Lw8Rt5Yp1"}\r\n'],
        ["--secrets-from", "k9Xq2Lw8Rt5Yp1\r\nanother-5ecret-value\r\n"],
        ["--marks", '{"kind": "pi-sessions/marks/1",\r\n"sessions": {}}\r\n'],
        ["--redaction-key", `${"a".repeat(64)}\r\n`],
        ["--threads", '{"id":"a","type":"chat","payload":{}}\r\n{"id":"b","type":"chat"\r\n']
      ]
      for (const [flag, content] of accepted) {
        const cwd = yield* folder
        Files.writeFileSync(Path.join(cwd, "input"), `\ufeff${content}`)
        const { status, stderr } = yield* call([...extract, flag, "input"], cwd, false, { HOME: cwd })
        assert.strictEqual(status, 0, `${flag} ${content}: ${stderr}`)
        assert.notInclude(stderr, "not taken as a secret")
      }
    })
  )

  it.live("is an incomplete tokenizer", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const { status, stderr } = yield* call([...extract, "--tokenizer", model, "--format", "tokens"], cwd)
      assert.strictEqual(status, 0, stderr)
    })
  )

  const isRoot = process.getuid?.() === 0
  it.live.skipIf(isRoot)(`may be an unreadable file${isRoot ? " (skipped: root reads every file)" : ""}`, () =>
    Effect.forEach(
      rows.filter(({ args, faults: names }) => names.includes("empty") && !args.includes("hydrate")),
      ({ args }) =>
        refused(
          args,
          { make: (bad) => Files.writeFileSync(bad, "x", { mode: 0 }), says: /permission denied/ },
          1,
          "mode 0"
        ),
      { discard: true }
    )
  )
})
