/** One run, incremental runs and shards give the same dataset. The oracle is a run without a ledger. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import * as DatasetValidation from "../src/publish/DatasetValidation.ts"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type Made, generate, write } from "@pi-sessions/samples/test/manySessions"

const KEY = "0".repeat(64)

/** Every fifth session shows an image; some of them the same one. */
const withImage = (one: Made, at: number): Made => {
  if (at % 5 !== 0) return one
  const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.from(`image ${at % 15}`)])
  const block = { type: "image", mimeType: "image/png", data: png.toString("base64") }
  let isShown = false
  const lines = one.lines.map((line): string => {
    const entry = JSON.parse(line)
    if (isShown || entry.message?.role !== "user") return line
    isShown = true
    const content = [{ type: "text", text: entry.message.content }, block]
    return JSON.stringify({ ...entry, message: { ...entry.message, content } })
  })
  return { ...one, lines }
}

/** A folder of sessions, and the service over it, which records the sessions that it reads. */
const workbench = Effect.gen(function* () {
  const root = yield* memoryFolder
  const folder = Path.join(root, "sessions")
  const made = generate(30, 7).map(withImage)
  write(folder, made)
  const read: Array<string> = []
  const failing = new Set<string>()
  const counting = Layer.effect(
    SessionSource,
    Effect.map(SessionSource, (source) => ({
      ...source,
      read: (ref: SessionRef) =>
        failing.has(Path.basename(ref.path))
          ? Effect.fail(new SessionFileError({ path: ref.path, operation: "read", reason: "EIO: i/o error" }))
          : Effect.tap(source.read(ref), () => Effect.sync(() => read.push(Path.basename(ref.path))))
    }))
  ).pipe(Layer.provide(SessionSource.layerPaths([folder])))
  const service = Effect.provide(
    Extract,
    Extract.layer.pipe(Layer.provide(counting), Layer.provide(NodeServices.layer))
  )
  const options = (name: string, more: Partial<ExtractOptions> = {}): ExtractOptions => ({
    rigs: [],
    roles: [],
    format: "messages",
    redaction: { key: KEY },
    split: { _tag: "Share", validation: 0.2 },
    out: Path.join(root, name),
    ...more
  })
  const run = (name: string, more: Partial<ExtractOptions> = {}) =>
    Effect.flatMap(service, (extract) => extract.run(options(name, more)))
  const ledger = Path.join(root, "ledger.jsonl")
  return { root, folder, made, read, failing, service, options, run, ledger }
})

/** What a directory holds, by name. */
const contents = (directory: string): ReadonlyMap<string, string> =>
  new Map(
    Fs.readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => Path.join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [Path.relative(directory, path), Fs.readFileSync(path, "latin1")])
  )

const sameDirectories = (left: string, right: string): void => {
  const [a, b] = [contents(left), contents(right)]
  assert.deepStrictEqual([...a.keys()], [...b.keys()])
  for (const [name, text] of a) assert.isTrue(text === b.get(name), `${name} is the same in both`)
}

const without = (made: ReadonlyArray<Made>, folder: string, index: number): void =>
  Fs.rmSync(Path.join(folder, `${made[index]?.id}.jsonl`))

/** Another answer at the end of a session, as Pi would append it. */
const append = (folder: string, { id, lines }: Made): void => {
  const last: { id?: string } = JSON.parse(lines.at(-1) ?? "{}")
  const entry = (name: string, parentId: string | undefined, message: object) =>
    JSON.stringify({
      type: "message",
      id: name,
      parentId: parentId ?? null,
      timestamp: "2026-04-01T00:00:00.000Z",
      message
    })
  const asked = entry("asked", last.id, { role: "user", content: "And now?" })
  const answer = { role: "assistant", content: [{ type: "text", text: `Now ${id} goes on.` }], stopReason: "stop" }
  Fs.appendFileSync(Path.join(folder, `${id}.jsonl`), `${asked}\n${entry("answered", "asked", answer)}\n`)
}

const ROUNDS = Dose.of("PI_SESSIONS_ROUNDS", { test: 5, campaign: 50 })

const FORMATS: ReadonlyArray<FormatName> = ["messages", "lora-forge", "pi"]

describe("a run with a ledger", () => {
  it.live("does nothing when nothing has changed", () =>
    Effect.gen(function* () {
      const { ledger, options, read, run } = yield* workbench
      const first = yield* run("out", { ledger })
      assert.isAbove(read.length, 10)
      read.length = 0
      const { out } = options("out")
      const before = Fs.readdirSync(out).map((name) => [name, Fs.statSync(Path.join(out, name)).mtimeMs])
      const second = yield* run("out", { ledger })
      assert.deepStrictEqual(second, first)
      assert.deepStrictEqual(read, [])
      assert.deepStrictEqual(
        Fs.readdirSync(out).map((name) => [name, Fs.statSync(Path.join(out, name)).mtimeMs]),
        before
      )
      // Other settings give another dataset.
      yield* run("out", { ledger, minTurns: 5 })
      assert.isAbove(read.length, 10)
    })
  )

  it.live.each(FORMATS)("makes only parts that changed, and the same bytes as a fresh run: %s", (format) =>
    Effect.gen(function* () {
      const { folder, ledger, made, options, read, run } = yield* workbench
      const random = SeededRandom.make(11)
      let saved = 0
      for (let round = 0; round < ROUNDS; round++) {
        read.length = 0
        yield* run("out", { ledger, format })
        const incremental = read.length
        read.length = 0
        // Recorded splits stay, so the fresh run has to know them.
        Fs.mkdirSync(options("fresh").out, { recursive: true })
        const splits = Path.join(options("out").out, "splits.json")
        const report = Path.join(options("fresh").out, "report.json")
        Fs.copyFileSync(splits, Path.join(options("fresh").out, "splits.json"))
        if (!Fs.existsSync(report)) Fs.copyFileSync(Path.join(options("out").out, "report.json"), report)
        yield* run("fresh", { format })
        sameDirectories(options("out").out, options("fresh").out)
        assert.isAtMost(incremental, read.length)
        if (round > 0) saved += read.length - incremental
        const target = made[random.int(made.length)]
        if (target !== undefined && Fs.existsSync(Path.join(folder, `${target.id}.jsonl`))) append(folder, target)
        if (round === 1) write(folder, generate(5, 8))
        if (round === 2) without(made, folder, 3)
        // Edited data is made again, not copied.
        if (round === 3) {
          const name = [...contents(options("out").out).keys()].find((name) =>
            /train[^/]*\.jsonl$|^train\//u.test(name)
          )
          const train = Path.join(options("out").out, name ?? "")
          Fs.writeFileSync(train, Fs.readFileSync(train, "utf8").replaceAll("w1", "v1"))
        }
      }
      assert.isAbove(saved, 30)
    })
  )

  it.live("continues an interrupted run", () =>
    Effect.gen(function* () {
      const { options, read, root, run } = yield* workbench
      yield* run("whole")
      const all = read.length
      read.length = 0
      const reached = { count: 0 }
      const hold = Effect.suspend(() => (++reached.count > 20 ? Effect.never : Effect.void))
      const fiber = yield* Effect.forkChild(run("out", { onProgress: () => hold }))
      while (reached.count <= 20) yield* Effect.sleep("5 millis")
      const exit = yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
      assert.isTrue(Exit.hasInterrupts(exit))
      const folders = Fs.readdirSync(Path.join(root, "out"))
      assert.deepStrictEqual(
        folders.map((name) => name.slice(0, 5)),
        [".run-"]
      )
      const done = read.length
      assert.isAbove(done, 5)
      assert.isBelow(done, all)
      read.length = 0
      yield* run("out")
      assert.isAtMost(read.length, all - done + 2)
      sameDirectories(options("out").out, options("whole").out)
    })
  )

  it.live("repairs an interrupted publication", () =>
    Effect.gen(function* () {
      const { folder, made, options, run } = yield* workbench
      yield* run("out", { format: "pi" })
      for (const one of made) append(folder, one)
      yield* run("whole", { format: "pi" })
      // The state after a kill: the marker, some of the new files, no report.
      const { out } = options("out")
      const names = ["train/new.jsonl", "../outside.jsonl", "splits.json"]
      Fs.writeFileSync(
        Path.join(out, ".unfinished"),
        JSON.stringify({ kind: "pi-sessions/unfinished-dataset/1", names })
      )
      Fs.writeFileSync(Path.join(out, "train", "new.jsonl"), "{}\n")
      Fs.writeFileSync(Path.join(out, "..", "outside.jsonl"), "mine\n")
      Fs.rmSync(Path.join(out, "report.json"))
      const broken = yield* Effect.flip(Effect.provide(DatasetValidation.validateDirectory(out), NodeServices.layer))
      assert.include(broken.message, "run extract again")
      Fs.rmSync(Path.join(options("whole").out, "splits.json"))
      Fs.copyFileSync(Path.join(out, "splits.json"), Path.join(options("whole").out, "splits.json"))
      yield* run("whole", { format: "pi" })
      yield* run("out", { format: "pi" })
      sameDirectories(out, options("whole").out)
      assert.strictEqual(Fs.readFileSync(Path.join(out, "..", "outside.jsonl"), "utf8"), "mine\n")
    })
  )

  it.live("keeps the parts of the first run when a second one is interrupted", () =>
    Effect.gen(function* () {
      const { options, read, run } = yield* workbench
      yield* run("whole")
      const all = read.length
      const stopAt = Effect.fnUntraced(function* (count: number) {
        const reached = { count: 0 }
        const hold = Effect.suspend(() => (++reached.count > count ? Effect.never : Effect.void))
        const fiber = yield* Effect.forkChild(run("out", { onProgress: () => hold }))
        while (reached.count <= count) yield* Effect.sleep("5 millis")
        yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
      })
      yield* stopAt(24)
      // Before anything is written, and after a part of what is there already.
      yield* stopAt(0)
      yield* stopAt(10)
      read.length = 0
      yield* run("out")
      assert.isBelow(read.length, all / 2)
      sameDirectories(options("out").out, options("whole").out)
    })
  )

  it.live("tries unreadable sessions again", () =>
    Effect.gen(function* () {
      const { failing, ledger, made, options, read, root, run, service } = yield* workbench
      const extract = yield* service
      yield* run("whole")
      failing.add(`${made[0]?.id}.jsonl`)
      const broken = yield* run("out", { ledger })
      assert.strictEqual(broken.files.unreadable, 1)
      // Shards and merged datasets report it too.
      const plan = Path.join(root, "plan.json")
      yield* extract.plan(options("joined"), plan)
      yield* extract.shard(options("shard"), plan, { shard: 1, of: 1 })
      const joined = yield* extract.merge(options("joined"), plan, [options("shard").out])
      assert.strictEqual(joined.files.unreadable, 1)
      read.length = 0
      failing.clear()
      yield* run("out", { ledger })
      assert.isAtLeast(read.length, 1)
      assert.isAtMost(read.length, 10)
      sameDirectories(options("out").out, options("whole").out)
    })
  )

  it.live("leaves nothing behind when it fails", () =>
    Effect.gen(function* () {
      const { root, run } = yield* workbench
      const exit = yield* Effect.exit(
        run("out", { onProgress: ({ done }) => (done > 20 ? Effect.die("enough") : Effect.void) })
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(Fs.readdirSync(Path.join(root, "out")), [])
    })
  )
})

describe("shards of a plan", () => {
  const layouts: ReadonlyArray<Partial<ExtractOptions>> = [
    { format: "messages" },
    { format: "lora-forge" },
    { format: "parquet", images: true },
    { format: "pi" },
    { format: "messages", images: true },
    { format: "axolotl", perRole: true, maxFileBytes: 30_000, branches: "all" }
  ]
  it.live.each(layouts)("make the dataset of one process, byte for byte, with %o", (layout) =>
    Effect.gen(function* () {
      const { options, root, run, service } = yield* workbench
      const extract = yield* service
      yield* run("whole", layout)
      const plan = Path.join(root, "plan.json")
      for (const of of Dose.isCampaign() ? [1, 2, 7] : [1, 5]) {
        yield* extract.plan(options(`joined-${of}`, layout), plan)
        const shards = Array.from({ length: of }, (_, at) => Path.join(root, `shards-${of}`, String(at + 1)))
        // In any order, and one twice, as after the failure of a machine.
        for (const [at, out] of [...shards.entries()].reverse().concat([[0, shards[0] ?? ""]])) {
          yield* extract.shard(options("", { ...layout, out }), plan, { shard: at + 1, of })
        }
        yield* extract.merge(options(`joined-${of}`, layout), plan, shards.toReversed())
        sameDirectories(options("whole").out, options(`joined-${of}`).out)
      }
    })
  )

  it.live("are refused when they are damaged or name files outside of their directories", () =>
    Effect.gen(function* () {
      const { options, root, run, service } = yield* workbench
      const extract = yield* service
      yield* run("whole", { format: "pi" })
      const plan = Path.join(root, "plan.json")
      yield* extract.plan(options("joined", { format: "pi" }), plan)
      const shard = (at: number) => extract.shard(options(`shard-${at}`, { format: "pi" }), plan, { shard: at, of: 2 })
      yield* shard(1)
      yield* shard(2)
      const directories = [1, 2].map((at) => options(`shard-${at}`).out)
      const merge = extract.merge(options("joined", { format: "pi" }), plan, directories)
      const first = [...contents(directories[0] ?? "").keys()].find((name) => name.startsWith("train/")) ?? ""
      Fs.appendFileSync(Path.join(directories[0] ?? "", first), "{}\n")
      assert.include((yield* Effect.flip(merge)).message, "make the shard anew")
      yield* shard(1)
      const listed = Path.join(directories[1] ?? "", "shard.jsonl")
      const text = Fs.readFileSync(listed, "utf8")
      for (const evil of ["../../victim", "train/../../victim", "/etc/victim", ".hidden", "a\\\\..\\\\b"]) {
        Fs.writeFileSync(listed, text.replace(/"(name|placed)":"[^"]*"/gu, `"$1":"${evil}"`))
        assert.include((yield* Effect.flip(merge)).message, "it holds no shard of a dataset")
      }
      yield* shard(2)
      yield* merge
      sameDirectories(options("whole").out, options("joined").out)
      // Shards share no files with the dataset.
      Fs.appendFileSync(Path.join(options("joined").out, first), "{}\n")
      assert.strictEqual(
        (yield* extract.merge(options("again", { format: "pi" }), plan, directories)).samples.kept > 0,
        true
      )
    })
  )

  it.live("keep the splits that the dataset records; a plan without them is refused", () =>
    Effect.gen(function* () {
      const { folder, options, root, service } = yield* workbench
      const extract = yield* service
      const plan = Path.join(root, "plan.json")
      const join = Effect.fnUntraced(function* (planned: string) {
        yield* extract.plan(options(planned), plan)
        const { out } = options(`shard-${Math.random()}`)
        yield* extract.shard(options("", { out }), plan, { shard: 1, of: 1 })
        return yield* Effect.result(extract.merge(options("joined"), plan, [out]))
      })
      assert.strictEqual((yield* join("joined"))._tag, "Success")
      const before = Fs.readFileSync(Path.join(options("joined").out, "splits.json"), "utf8")
      write(folder, generate(30, 21))
      const foreign = yield* join("elsewhere")
      assert.strictEqual(foreign._tag, "Failure")
      if (foreign._tag === "Failure") assert.include(foreign.failure.message, "make the plan again with --out")
      assert.strictEqual(Fs.readFileSync(Path.join(options("joined").out, "splits.json"), "utf8"), before)
      assert.strictEqual((yield* join("joined"))._tag, "Success")
      const [was, is]: ReadonlyArray<Record<string, string>> = [
        before,
        Fs.readFileSync(Path.join(options("joined").out, "splits.json"), "utf8")
      ].map((text) => JSON.parse(text).sessions)
      for (const [id, split] of Object.entries(was ?? {})) assert.strictEqual(is?.[id], split)
    })
  )

  it.live("are refused when they do not belong together", () =>
    Effect.gen(function* () {
      const { folder, made, options, root, service } = yield* workbench
      const extract = yield* service
      const plan = Path.join(root, "plan.json")
      yield* extract.plan(options("joined"), plan)
      const shard = (at: number, more: Partial<ExtractOptions> = {}) =>
        extract.shard(options(`shard-${at}`, more), plan, { shard: at, of: 3 })
      const merge = (...names: ReadonlyArray<string>) =>
        Effect.flip(
          extract.merge(
            options("joined"),
            plan,
            names.map((name) => Path.join(root, name))
          )
        )
      yield* shard(1)
      yield* shard(2)
      assert.include((yield* merge("shard-1", "shard-2")).message, "shards are missing: 3 of 3")
      assert.include((yield* merge("shard-1", "nowhere")).message, "it holds no finished shard")
      assert.include((yield* merge()).message, "no shards were named")
      assert.include((yield* Effect.flip(shard(3, { minTurns: 9 }))).message, "it was made with other settings")
      const theirs = Path.join(root, "shard-1", "train.jsonl")
      const text = Fs.readFileSync(theirs, "utf8")
      yield* shard(3)
      Fs.writeFileSync(theirs, text.replace("w1", "v1"))
      assert.include((yield* merge("shard-1", "shard-2", "shard-3")).message, "its files are not as they were written")
      assert.isFalse(Fs.existsSync(Path.join(root, "joined", "train.jsonl")))
      for (const one of made) append(folder, one)
      Fs.rmSync(Path.join(root, "shard-2"), { recursive: true })
      assert.include((yield* Effect.flip(shard(2))).message, "it was changed since the plan was made")
      yield* extract.plan(options("joined", { includeNearDuplicates: true }), plan)
      assert.include((yield* merge("shard-1")).message, "it was made with other settings")
      yield* extract.plan(options("joined"), plan)
      assert.include((yield* merge("shard-1")).message, "it is a shard of another plan")
    })
  )
})

describe("Extract.survey", () => {
  it.live.each(FORMATS)("gives the report of a run and writes nothing: %s", (format) =>
    Effect.gen(function* () {
      const { options, root, run, service } = yield* workbench
      const { out: _out, ...asked } = options("", { format })
      const report = yield* Effect.flatMap(service, (extract) => extract.survey(asked))
      assert.deepStrictEqual(Fs.readdirSync(root), ["sessions"])
      const { outputs: _outputs, ...expected } = yield* run("out", { format })
      const { outputs: _none, ...surveyed } = report
      assert.deepStrictEqual(surveyed, expected)
    })
  )
})
