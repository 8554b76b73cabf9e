/**
 * Every command over sessions with one wrong field, damaged sessions of every format, wrong and damaged threads, and
 * damaged stores: each call ends with exit status 0, 1 or 2 and a message of ours, and the results for good sessions in the
 * same folder do not change.
 *
 * `PI_SESSIONS_WRONG_FIELDS` is the number of cases of each family. A failure names its family and seed:
 * `PI_SESSIONS_SEED=<seed> PI_SESSIONS_WRONG_FIELDS=1` with `-t <family>` runs that case alone, with all commands.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as DamagedBytes from "@pi-sessions/testing/sessions/DamagedBytes"
import * as Dose from "@pi-sessions/testing/Dose"
import * as EverySession from "@pi-sessions/testing/sessions/EverySession"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as WrongField from "@pi-sessions/testing/sessions/WrongField"
import { overStore, overThread } from "./support/anyCommand.ts"
import { call } from "./support/callCli.ts"
import * as FolderRound from "./support/FolderRound.ts"
import { Watchdog } from "./support/neverFails.ts"
import { fixtures } from "./support/storeFolder.ts"

const CASES = Dose.of("PI_SESSIONS_WRONG_FIELDS", { test: 2, campaign: 50 })
const FIRST = Dose.firstSeed()
const AT_ONCE = 100

const lines = (file: string): ReadonlyArray<string> =>
  Files.readFileSync(Path.join(fixtures, file), "utf8").trimEnd().split("\n")

const CLAUDE_CODE = lines("claude-code/-srv-shop/6f1c2a90-5b1d-4c57-9a35-0d2f8c11aa01.jsonl")

/** A transcript of Claude Code with unique ids and texts. */
const transcript = (seed: number): ReadonlyArray<string> =>
  CLAUDE_CODE.map((line) =>
    line
      .replaceAll("6f1c2a90", seed.toString(16).padStart(8, "0"))
      .replaceAll(/"(text|content|thinking)":"/gu, (start) => `${start}w${seed}w `)
  )

const piSession =
  (format: EverySession.Format) =>
  (seed: number): ReadonlyArray<string> =>
    EverySession.make({ seed, format, cwd: "/home/ann/app" }).lines

const bytesOf = (text: ReadonlyArray<string>): Buffer => Buffer.from(`${text.join("\n")}\n`)

type Make = (seed: number) => { readonly name: string; readonly bytes: Uint8Array }

const withWrongField = (template: (seed: number) => ReadonlyArray<string>): Make => {
  const fields = WrongField.of(template(1))
  return (seed) => {
    const { name, lines } = fields.at(seed, template(seed))
    return { name, bytes: bytesOf(lines) }
  }
}

const damaged =
  (template: (seed: number) => ReadonlyArray<string>): Make =>
  (seed) => {
    const random = SeededRandom.make(seed)
    let bytes = bytesOf(template(seed))
    for (let times = 1 + random.int(6); times > 0; times--) bytes = DamagedBytes.damage(random, bytes)
    return { name: "damaged", bytes }
  }

const TEMPLATES: { readonly [format: string]: (seed: number) => ReadonlyArray<string> } = {
  "Pi version 3": piSession("v3"),
  "Pi version 2": piSession("v2"),
  "Pi version 1": piSession("v1"),
  "Claude Code": transcript
}

const sentence = ({ cases, args, problem }: FolderRound.Fault): string =>
  `seed ${cases.map(({ seed, name }) => `${seed} (${name})`).join(", ")}\n  ${args.join(" ")}\n  ${problem}`

/** Runs one family of cases; the test fails with all its faults. */
const campaign = <E>(
  family: string,
  count: number,
  run: (
    cwd: string,
    seeds: ReadonlyArray<number>,
    watchdog: Watchdog
  ) => Effect.Effect<ReadonlyArray<FolderRound.Fault>, E>
) =>
  it.live(
    family,
    Effect.fnUntraced(function* () {
      const cwd = yield* memoryFolder
      using watchdog = new Watchdog()
      const seeds = Array.from({ length: count }, (_, at) => FIRST + at)
      const faults: Array<FolderRound.Fault> = []
      for (let at = 0; at < seeds.length && faults.length < 20; at += AT_ONCE) {
        faults.push(...(yield* run(cwd, seeds.slice(at, at + AT_ONCE), watchdog)))
      }
      process.stdout.write(`${family}: ${count} cases from seed ${FIRST}, ${faults.length} faults\n`)
      if (faults.length > 0) assert.fail(faults.map(sentence).join("\n"))
    }, Effect.scoped),
    3_600_000
  )

describe("every command ends well", () => {
  for (const [format, template] of Object.entries(TEMPLATES)) {
    const families: ReadonlyArray<readonly [string, Make]> = [
      [`sessions of ${format} with a wrong field`, withWrongField(template)],
      [`damaged sessions of ${format}`, damaged(template)]
    ]
    for (const [family, make] of families) {
      let good: Effect.Success<ReturnType<typeof FolderRound.baseline>> | undefined
      campaign(family, CASES, (cwd, seeds, watchdog) =>
        Effect.gen(function* () {
          good ??= yield* FolderRound.baseline(cwd)
          const cases = seeds.map((seed) => ({ seed, ...make(seed) }))
          return yield* FolderRound.tried(cwd, cases, good, watchdog)
        })
      )
    }
  }

  for (const thread of ["rename-module", "raw-lines", "empty-tool-ids"]) {
    const template = lines(`threads/${thread}.jsonl`)
    const families: ReadonlyArray<readonly [string, Make]> = [
      [`threads like ${thread} with a wrong field`, withWrongField(() => template)],
      [`damaged threads like ${thread}`, damaged(() => template)]
    ]
    for (const [family, make] of families) {
      campaign(family, CASES, (cwd, seeds, watchdog) =>
        Effect.gen(function* () {
          const faults: Array<FolderRound.Fault> = []
          for (const seed of seeds) {
            const one = { seed, ...make(seed) }
            const out = Path.join(cwd, "out")
            Files.rmSync(out, { recursive: true, force: true })
            Files.mkdirSync(out)
            const file = Path.join(out, "thread.jsonl")
            Files.writeFileSync(file, one.bytes)
            const calls = overThread(SeededRandom.make(seed), file, out)
            const problem = yield* FolderRound.firstProblem(cwd, calls, watchdog)
            if (problem !== undefined) faults.push({ cases: [one], ...problem })
          }
          return faults
        })
      )
    }
  }

  campaign("damaged stores", Math.ceil(CASES / 2), (cwd, seeds, watchdog) =>
    Effect.gen(function* () {
      const faults: Array<FolderRound.Fault> = []
      for (const seed of seeds) {
        const [root, out] = [Path.join(cwd, "root"), Path.join(cwd, "out")]
        for (const folder of [root, out]) {
          Files.rmSync(folder, { recursive: true, force: true })
          Files.mkdirSync(folder)
        }
        const session = EverySession.make({ seed, format: "v3", cwd: "/home/ann/app" })
        Files.writeFileSync(Path.join(root, "s.jsonl"), bytesOf(session.lines))
        const made = yield* call(["store", "migrate", root], cwd)
        assert.strictEqual(made.status, 0, made.stderr)
        const random = SeededRandom.make(seed)
        const name = damageStore(random, root)
        const calls = overStore(random, root, Path.join(root, `${session.id}.v2`), out)
        const problem = yield* FolderRound.firstProblem(cwd, calls, watchdog)
        if (problem !== undefined) faults.push({ cases: [{ seed, name, bytes: new Uint8Array() }], ...problem })
      }
      return faults
    })
  )
})

describe("keys that every object has", () => {
  const KEYS = Object.getOwnPropertyNames(Object.prototype)
  const members = KEYS.map((key) => `${JSON.stringify(key)}:{"in":"${key}"}`).join(",")
  const toolCall = `{"type":"toolCall","id":"__proto__","name":"__proto__","arguments":{${members}}}`
  const result = '"toolCallId":"__proto__","toolName":"__proto__","content":[]'
  const message = (id: string, parentId: string, body: string): string =>
    `{"type":"message","id":"${id}","parentId":${parentId},"message":{${body}}}`
  const session = [
    '{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/x"}',
    message("u", "null", '"role":"user","content":"hi"'),
    message("__proto__", '"u"', `"role":"assistant","usage":{},"content":[${toolCall}]`),
    message("t", '"__proto__"', `"role":"toolResult",${result}`),
    message("b", '"t"', '"role":"assistant","usage":{},"content":[{"type":"text","text":"done"}]')
  ]

  for (const format of ["messages", "axolotl", "sharegpt", "llama-factory", "ms-swift", "openai", "mistral", "pi"]) {
    it.live(`are all in a dataset of the format ${format}, redacted and not`, () =>
      Effect.gen(function* () {
        const cwd = yield* memoryFolder
        Files.writeFileSync(Path.join(cwd, "s.jsonl"), bytesOf(session))
        for (const flags of [[], ["--no-redact"]]) {
          const args = ["extract", "--sessions", "s.jsonl", "--out", `d${flags.length}`, "--format", format, ...flags]
          const made = yield* call(args, cwd)
          assert.strictEqual(made.status, 0, made.stderr)
          const dataset = Path.join(cwd, `d${flags.length}`)
          const text = Files.readdirSync(dataset, { recursive: true, encoding: "utf8" })
            .filter((name) => name.endsWith(".jsonl"))
            .map((name) => Files.readFileSync(Path.join(dataset, name), "utf8"))
            .join("")
            .replaceAll("\\", "")
          for (const key of KEYS) assert.include(text, `"${key}":{"in":"${key}"}`)
        }
      }).pipe(Effect.scoped)
    )
  }
})

/** Damages one or two files of a store; gives a description. */
const damageStore = (random: SeededRandom.SeededRandom, root: string): string => {
  const done: Array<string> = []
  for (let times = 1 + random.int(2); times > 0; times--) {
    const files = Files.readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((name) => Files.statSync(Path.join(root, name)).isFile())
      .toSorted()
    const name = files[random.int(files.length)] ?? ""
    const file = Path.join(root, name)
    const bytes = Files.readFileSync(file)
    const what = random.pick(["removed", "emptied", "cut off", "with flipped bits", "with other lines"])
    done.push(`${name} ${what}`)
    if (what === "removed") Files.rmSync(file)
    else if (what === "emptied") Files.writeFileSync(file, "")
    else if (what === "cut off") Files.writeFileSync(file, bytes.subarray(0, random.int(bytes.length + 1)))
    else if (what === "with other lines") Files.writeFileSync(file, DamagedBytes.damage(random, bytes))
    else {
      for (let flips = 1 + random.int(4); flips > 0 && bytes.length > 0; flips--) {
        const at = random.int(bytes.length)
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(8))
      }
      Files.writeFileSync(file, bytes)
    }
  }
  return done.join(", ")
}
