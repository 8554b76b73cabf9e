/** Thread files, mirrors and hydration on a disk that is really full. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as FullDisk from "@pi-sessions/testing/disk/FullDisk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Hydrate, type HydrateOptions } from "../src/Hydrate.ts"
import { Mirror } from "../src/Mirror.ts"
import { ThreadSink } from "../src/ThreadSink.ts"
import { ThreadSource } from "../src/ThreadSource.ts"
import * as FaultyServer from "./support/FaultyServer.ts"

const { chat } = FaultyServer
const DISK_BYTES = 512 * 1024
const FULL = "the disk is full (ENOSPC)"

const fileSink = (path: string) =>
  ThreadSink.pipe(Effect.provide(ThreadSink.layerFile(path).pipe(Layer.provide(NodeServices.layer))))

const readThread = (path: string) =>
  Effect.flatMap(ThreadSource, (source) => source.thread(path)).pipe(
    Effect.provide(ThreadSource.layerFile.pipe(Layer.provide(NodeServices.layer)))
  )

const hydrate = (thread: string, cwd: string, target: string, options: HydrateOptions = {}) =>
  Effect.flatMap(Hydrate, (service) => service.hydratePiSessionFromThread(thread, cwd, target, options)).pipe(
    Effect.provide(Hydrate.layer.pipe(Layer.provide(ThreadSource.layerFile), Layer.provide(NodeServices.layer)))
  )

/** All files of a directory with their bytes. */
const contents = (directory: string) =>
  Fs.readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".ballast"))
    .map((entry) => [entry.name, Fs.readFileSync(Path.join(entry.parentPath, entry.name), "utf8")])

describe.skipIf(FullDisk.refusal() !== undefined)("on a full disk", () => {
  it.live.each([false, true])(
    "a thread's file acknowledges no torn line, and continues when there is space (after a restart: %s)",
    Effect.fnUntraced(function* (restarted) {
      const disk = yield* FullDisk.make(DISK_BYTES)
      const path = Path.join(disk.root, "thread.jsonl")
      const sink = yield* fileSink(path)
      yield* sink.append("th_1", [chat(1)])
      const before = Fs.readFileSync(path, "utf8")
      disk.fill(8192)
      // Some entries fit, and one in part.
      const batch = Array.from({ length: 10 }, (_, n) => chat(n + 2, "é🦄".repeat(300)))
      for (let attempt = 0; attempt < 2; attempt++) {
        const error = yield* Effect.flip(sink.append("th_1", batch))
        assert.strictEqual(
          error.message,
          `cannot append to thread th_1: ${path} cannot be written: ${FULL}. Check that its directory may be written ` +
            "to and that the disk has space, and append the same entries again"
        )
        assert.isTrue(error.retryable)
        assert.isTrue(Fs.readFileSync(path, "utf8").startsWith(before))
        const { diagnostics, entries } = yield* readThread(path)
        assert.isBelow(entries.length, 11)
        assert.deepStrictEqual<unknown>(
          entries.map(({ id, payload, type }) => ({ id, type, payload })),
          [chat(1), ...batch].slice(0, entries.length)
        )
        assert.isAtLeast(diagnostics.length, 1, "the torn line is reported")
      }
      disk.free()
      yield* (restarted ? yield* fileSink(path) : sink).append("th_1", batch)
      assert.deepStrictEqual(yield* (yield* fileSink(path)).append("th_1", batch), { accepted: 0, repeated: 10 })
      const { entries } = yield* readThread(path)
      assert.deepStrictEqual<unknown>(
        entries.map(({ id, payload, type }) => ({ id, type, payload })),
        [chat(1), ...batch]
      )
    })
  )

  const header = `{"type":"session","version":3,"id":"s1","cwd":"/"}\n`
  const entry = (n: number, length = 20) =>
    `${JSON.stringify({
      type: "message",
      id: `a${n}`,
      parentId: null,
      message: { role: "assistant", content: [{ type: "text", text: "words ".repeat(length) }], timestamp: n }
    })}\n`

  /** Runs a mirror from start to end. Returns its reports. */
  const mirroring = <A, E>(
    threads: string,
    stateDirectory: string,
    use: (mirror: Mirror["Service"], reports: ReadonlyArray<string>) => Effect.Effect<A, E>
  ) => {
    const reports: Array<string> = []
    return Effect.flatMap(Mirror, (mirror) => use(mirror, reports)).pipe(
      Effect.provide(
        Mirror.layer({
          sinkName: threads,
          stateDirectory,
          interval: "10 millis",
          backoff: "1 millis",
          longestBackoff: "5 millis",
          report: (kind, message) => Effect.sync(() => reports.push(`${kind}: ${message}`))
        }).pipe(
          Layer.provide([ThreadSink.layerDirectory(threads), ThreadSource.layerDirectory(threads)]),
          Layer.provide(NodeServices.layer)
        ),
        { local: true }
      )
    )
  }
  const opening = (file: string) => ({ file, sessionId: "s1", threadId: "th", fallbackThreadId: "th", fresh: true })
  const context = { systemPrompt: "be good", tools: [], afterEntryId: "a1" }
  const givenBack = Effect.fnUntraced(function* (threads: string) {
    const directory = yield* temporaryFolder
    const target = Path.join(directory, "s.jsonl")
    yield* hydrate(Path.join(threads, "th.jsonl"), directory, target, { mode: "lossless", keepCwd: true })
    return Fs.readFileSync(target, "utf8")
  })

  it.live(
    "a mirror reports it once, and sends everything when there is space, also entries that waited in memory",
    Effect.fnUntraced(function* () {
      const disk = yield* FullDisk.make(DISK_BYTES)
      const [threads, state] = [Path.join(disk.root, "threads"), Path.join(disk.root, "state")]
      const file = Path.join(yield* temporaryFolder, "s.jsonl")
      disk.fill()
      yield* mirroring(
        threads,
        state,
        Effect.fnUntraced(function* (mirror, reports) {
          yield* mirror.open(opening(file))
          yield* mirror.requestContext(context)
          Fs.writeFileSync(file, header + entry(1, 10_000) + entry(2))
          for (let round = 0; round < 5; round++) assert.isFalse(yield* mirror.flush("1 minute"))
          assert.strictEqual(reports.length, 1)
          assert.include(reports[0], `${Path.join(threads, "th.jsonl")} cannot be written: ${FULL}`)
          disk.free()
          assert.isTrue(yield* mirror.flush("1 minute"))
        })
      )
      assert.strictEqual(yield* givenBack(threads), Fs.readFileSync(file, "utf8"))
      const { passedOver } = yield* readThread(Path.join(threads, "th.jsonl"))
      assert.strictEqual(passedOver.get("pi.request_context"), 1)
      assert.strictEqual(contents(state).length, 1, "the record of the session")
    })
  )

  it.live(
    "a mirror that cannot save its record mirrors anyway, and saves it when there is space",
    Effect.fnUntraced(function* () {
      const disk = yield* FullDisk.make(DISK_BYTES)
      const threads = Path.join(yield* temporaryFolder, "threads")
      const file = Path.join(yield* temporaryFolder, "s.jsonl")
      Fs.writeFileSync(file, header + entry(1))
      const stored = () => contents(disk.root)
      yield* mirroring(
        threads,
        disk.root,
        Effect.fnUntraced(function* (mirror) {
          yield* mirror.open(opening(file))
          assert.isTrue(yield* mirror.flush("1 minute"))
          const before = stored()
          assert.strictEqual(before.length, 1)
          // Not even the directory of waiting entries can be made.
          disk.fill()
          Fs.appendFileSync(file, entry(2, 10_000) + entry(3))
          yield* mirror.requestContext(context)
          assert.isTrue(yield* mirror.flush("1 minute"))
          assert.deepStrictEqual(stored(), before, "the old record is whole, and nothing torn lies beside it")
          disk.free()
          assert.isTrue(yield* mirror.flush("1 minute"))
          assert.notDeepEqual(stored(), before)
        })
      )
      assert.strictEqual(yield* givenBack(threads), Fs.readFileSync(file, "utf8"))
      const { passedOver } = yield* readThread(Path.join(threads, "th.jsonl"))
      assert.strictEqual(passedOver.get("pi.request_context"), 1)
    })
  )

  it.live(
    "hydration fails with one error, changes no existing file, and works when there is space",
    Effect.fnUntraced(function* () {
      const disk = yield* FullDisk.make(DISK_BYTES)
      const thread = Path.join(yield* temporaryFolder, "thread.jsonl")
      const entries = Array.from({ length: 50 }, (_, n) => chat(n, "words ".repeat(200)))
      Fs.writeFileSync(thread, entries.map((one) => `${JSON.stringify(one)}\n`).join(""))
      const cwd = yield* temporaryFolder
      const whole = Path.join(cwd, "whole.jsonl")
      yield* hydrate(thread, cwd, whole)
      const bytes = Fs.readFileSync(whole, "utf8")
      const target = (name: string) => Path.join(disk.root, name)
      const beginning = bytes.slice(0, bytes.indexOf("\n", 5000) + 1)
      const other = bytes.replace("words words", "other words")
      Fs.writeFileSync(target("behind.jsonl"), beginning)
      Fs.writeFileSync(target("diverged.jsonl"), other)
      for (const leave of [0, 16_384]) {
        disk.fill(leave)
        for (const name of ["absent.jsonl", "behind.jsonl", "diverged.jsonl"]) {
          const error = yield* Effect.flip(hydrate(thread, cwd, target(name), { force: true }))
          assert.strictEqual(error.message, `cannot write ${target(name)}: ${FULL}`)
        }
        const left = new Map(contents(disk.root) as Array<[string, string]>)
        assert.strictEqual(left.get("behind.jsonl"), beginning)
        assert.strictEqual(left.get("diverged.jsonl"), other)
        assert.isFalse(left.has("absent.jsonl"))
        for (const [name, content] of left) assert.include([beginning, other], content, name)
        disk.free()
      }
      for (const name of ["absent.jsonl", "behind.jsonl", "diverged.jsonl"]) {
        yield* hydrate(thread, cwd, target(name), { force: true })
        assert.strictEqual(Fs.readFileSync(target(name), "utf8"), bytes)
      }
    })
  )
})
