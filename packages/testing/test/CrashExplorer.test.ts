/** Toy programs with the classical bugs, each beside its correct version: the explorer must tell one from the other. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as CrashExplorer from "../src/disk/CrashExplorer.ts"
import * as DiskImage from "../src/disk/DiskImage.ts"
import * as FaultyFileSystem from "../src/disk/FaultyFileSystem.ts"

type Program = (ledger: CrashExplorer.Ledger<string>) => Effect.Effect<unknown, unknown, FileSystem.FileSystem>
type Check = CrashExplorer.ExploreOptions<string, unknown>["check"]

const encode = (text: string) => new TextEncoder().encode(text)

const sync = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path, { flag: "r" })
  yield* file.sync
}, Effect.scoped)

const fails = (reason: string) => Effect.die(new Error(reason))

const readText = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return (yield* fs.exists(path)) ? yield* fs.readFileString(path) : undefined
})

/** The report of the correct program, and what is found in the one with the bug. */
const compare = (
  name: string,
  options: {
    readonly image?: DiskImage.DiskImage
    readonly correct: Program
    readonly buggy: Program
    readonly check: Check
    readonly finds: RegExp
    readonly fileSystem?: CrashExplorer.ExploreOptions<string, unknown>["fileSystem"]
  }
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      const { image, fileSystem, check } = options
      const common = { image, fileSystem, check, seed: 1 }
      const report = yield* CrashExplorer.explore({ ...common, workload: options.correct })
      process.stdout.write(`${name}: correct in ${report.states} states at ${report.boundaries} boundaries\n`)
      const finding = yield* Effect.flip(CrashExplorer.explore({ ...common, workload: options.buggy }))
      assert(finding instanceof CrashExplorer.CrashFinding)
      assert.match(finding.message, options.finds)
      const { boundary, state } = finding
      const again = yield* Effect.flip(
        CrashExplorer.explore({ ...common, workload: options.buggy, only: { boundary, state } })
      )
      assert.strictEqual(again instanceof CrashExplorer.CrashFinding && again.message, finding.message)
    })
  )

const replace = (steps: { readonly syncFile: boolean; readonly syncDirectory: boolean }): Program =>
  Effect.fnUntraced(function* ({ attempt, acknowledge }) {
    const fs = yield* FileSystem.FileSystem
    for (const value of ["second", "third"]) {
      attempt(value)
      yield* fs.writeFileString("/manifest.tmp", value)
      if (steps.syncFile) yield* sync("/manifest.tmp")
      yield* fs.rename("/manifest.tmp", "/manifest")
      if (steps.syncDirectory) yield* sync("/")
      acknowledge(value)
    }
  })

/** What is there is the last acknowledged value, or a later one that was tried; and whole. */
const checkReplaced: Check = Effect.fnUntraced(function* (_image, { acknowledged, attempted }) {
  const found = yield* readText("/manifest")
  const allowed = [acknowledged.at(-1) ?? "first", ...attempted.slice(acknowledged.length)]
  if (found === undefined || !allowed.includes(found)) return yield* fails(`the manifest is ${JSON.stringify(found)}`)
})

describe("a replaced file", () => {
  const image = DiskImage.fromFiles({ "/manifest": "first" })
  const correct = replace({ syncFile: true, syncDirectory: true })
  compare("needs a sync before the rename", {
    image,
    correct,
    buggy: replace({ syncFile: false, syncDirectory: true }),
    check: checkReplaced,
    finds: /the manifest is "[^]*write of 6 bytes at 0 of \/manifest.tmp (not done|torn|zeros)/
  })
  compare("needs a sync of the directory after the rename", {
    image,
    correct,
    buggy: replace({ syncFile: true, syncDirectory: false }),
    check: checkReplaced,
    finds: /the manifest is "first"[^]*1 acknowledged/
  })
})

const appendLines = (steps: {
  readonly acknowledgeEarly?: boolean
  readonly syncDirectory?: boolean
  readonly trustCount?: boolean
}): Program =>
  Effect.fnUntraced(function* ({ attempt, acknowledge }) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open("/log", { flag: "a" })
    if (steps.syncDirectory !== false) yield* sync("/")
    for (let index = 0; index < 5; index++) {
      const value = `line ${index} ${"x".repeat(index * 20)}\n`
      attempt(value)
      const bytes = encode(value)
      let written = yield* file.write(bytes)
      while (steps.trustCount !== true && written < bytes.length) written += yield* file.write(bytes.subarray(written))
      if (steps.acknowledgeEarly === true) acknowledge(value)
      yield* file.sync
      if (steps.acknowledgeEarly !== true) acknowledge(value)
    }
  }, Effect.scoped)

/** Recovery: all acknowledged lines first, then nothing, or a part of what was tried, which has no end or zeros. */
const checkLines: Check = Effect.fnUntraced(function* (_image, { acknowledged, attempted }) {
  const found = (yield* readText("/log")) ?? ""
  const promised = acknowledged.join("")
  if (!found.startsWith(promised)) return yield* fails(`acknowledged lines are missing`)
  if (found.length > attempted.join("").length) return yield* fails("more than was written")
})

describe("an appended log", () => {
  compare("is acknowledged after its sync", {
    correct: appendLines({}),
    buggy: appendLines({ acknowledgeEarly: true }),
    check: checkLines,
    finds: /acknowledged lines are missing/
  })
  compare("needs its name synced too", {
    correct: appendLines({}),
    buggy: appendLines({ syncDirectory: false }),
    check: checkLines,
    finds: /acknowledged lines are missing[^]*none of 1 unsynced operations done/
  })
  compare("must look at the count of a write", {
    correct: appendLines({}),
    buggy: appendLines({ trustCount: true }),
    check: checkLines,
    finds: /acknowledged lines are missing[^]*everything was durable/,
    fileSystem: {
      fault: ({ call, length }) => (call === "write" && (length ?? 0) > 40 ? FaultyFileSystem.short(7) : undefined)
    }
  })
})

const indexed = (steps: { readonly dataFirst: boolean }): Program =>
  Effect.fnUntraced(function* ({ attempt, acknowledge }) {
    const fs = yield* FileSystem.FileSystem
    const data = yield* fs.open("/data", { flag: "a" })
    const index = yield* fs.open("/index", { flag: "a" })
    yield* sync("/")
    let end = 0
    for (const value of ["one", "three", "fifteen"]) {
      attempt(value)
      end += value.length
      yield* data.writeAll(encode(value))
      if (steps.dataFirst) yield* data.sync
      yield* index.writeAll(encode(`${String(end).padStart(4, "0")}\n`))
      if (!steps.dataFirst) yield* data.sync
      yield* index.sync
      acknowledge(value)
    }
  }, Effect.scoped)

/** Every whole line of the index tells of bytes that are there. */
const checkIndexed: Check = Effect.fnUntraced(function* (_image, { attempted, acknowledged }) {
  const index = (yield* readText("/index")) ?? ""
  const data = (yield* readText("/data")) ?? ""
  const ends = [...index.matchAll(/^(\d{4})\n/gm)].map(([, end]) => Number(end))
  if (ends.length < acknowledged.length) return yield* fails("acknowledged rows are missing")
  const end = ends.at(-1) ?? 0
  if (data.slice(0, end) !== attempted.join("").slice(0, end))
    return yield* fails(`the index has ${end}, beyond the data`)
})

describe("an index of a log", () => {
  compare("is written after the data is synced", {
    correct: indexed({ dataFirst: true }),
    buggy: indexed({ dataFirst: false }),
    check: checkIndexed,
    finds: /beyond the data[^]*of \/data/
  })

  it.effect("stays correct when any sync is left out only where that sync is not needed", () =>
    Effect.gen(function* () {
      let syncs = 0
      const workload = indexed({ dataFirst: true })
      const count = ({ call }: FaultyFileSystem.Operation) => void (syncs += call === "sync" ? 1 : 0)
      const machine = FaultyFileSystem.make({ onOperation: (when, operation) => when === "after" && count(operation) })
      yield* workload({ attempt: () => {}, acknowledge: () => {} }).pipe(Effect.provide(machine.layer))
      for (let left = 0; left < syncs; left++) {
        let at = 0
        const fault = ({ call }: FaultyFileSystem.Operation) =>
          call === "sync" && at++ === left ? FaultyFileSystem.ignored : undefined
        const found = yield* Effect.flip(
          CrashExplorer.explore({ workload, check: checkIndexed, seed: 1, fileSystem: { fault } })
        )
        assert.instanceOf(found, CrashExplorer.CrashFinding, `sync ${left} of ${syncs}`)
      }
    })
  )
})

describe("an exploration", () => {
  const workload = appendLines({})

  it.effect("keeps to its budget and shares it among boundaries", () =>
    Effect.gen(function* () {
      const perBoundary = new Map<number, number>()
      const check: Check = (_image, { boundary }) =>
        Effect.sync(() => perBoundary.set(boundary, (perBoundary.get(boundary) ?? 0) + 1))
      const all = yield* CrashExplorer.explore({ workload, check, seed: 1 })
      const full = [...perBoundary.values()]
      assert.strictEqual(perBoundary.size, all.boundaries)
      assert.isAbove(all.states, 60)
      perBoundary.clear()
      const some = yield* CrashExplorer.explore({ workload, check, seed: 1, budget: 60 })
      assert.strictEqual(some.states, 60)
      assert.strictEqual(perBoundary.size, all.boundaries)
      const most = Math.max(...perBoundary.values())
      for (const [boundary, states] of perBoundary) assert.isAtLeast(states, Math.min(full[boundary] ?? 0, most - 1))
      perBoundary.clear()
      const few = yield* CrashExplorer.explore({ workload, check, seed: 2, budget: 5 })
      assert.deepStrictEqual([few.states, perBoundary.size], [5, 5])
    })
  )

  it.effect("tries the same states for the same seed", () =>
    Effect.gen(function* () {
      const tried = Effect.fnUntraced(function* (seed: number) {
        const found: Array<string> = []
        const check: Check = (image, { description }) =>
          Effect.sync(() => void found.push(`${description}\n${DiskImage.print(image)}`))
        yield* CrashExplorer.explore({ workload, check, seed, statesPerBoundary: 10 })
        return found
      })
      assert.deepStrictEqual(yield* tried(3), yield* tried(3))
      assert.notDeepEqual(yield* tried(3), yield* tried(4))
    })
  )

  it.effect("counts a halt as the end, and hands on how the program fails", () =>
    Effect.gen(function* () {
      const check: Check = () => Effect.void
      const halted = yield* CrashExplorer.explore({ workload, check, seed: 1, fileSystem: { haltAfter: 6 } })
      assert.strictEqual(halted.operations, 7)
      const fault = ({ index }: FaultyFileSystem.Operation) => (index === 6 ? FaultyFileSystem.error("EIO") : undefined)
      const failed = yield* Effect.flip(CrashExplorer.explore({ workload, check, seed: 1, fileSystem: { fault } }))
      assert.include(String(failed), "Unknown")
      assert.notInstanceOf(failed, CrashExplorer.CrashFinding)
    })
  )

  it.effect("explores a recovery too, inside of a check", () =>
    Effect.gen(function* () {
      let inner = 0
      const check: Check = Effect.fnUntraced(function* (image) {
        const recovery: Program = () =>
          Effect.flatMap(FileSystem.FileSystem, (fs) => fs.writeFileString("/recovered", "yes"))
        const report = yield* CrashExplorer.explore({ image, workload: recovery, check: () => Effect.void, seed: 1 })
        inner += report.states
      })
      const outer = yield* CrashExplorer.explore({ workload, check, seed: 1, budget: 20 })
      assert.isAbove(inner, 2 * outer.states)
    })
  )
})
