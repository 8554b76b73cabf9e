import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as CrashState from "../src/disk/CrashState.ts"
import * as DiskImage from "../src/disk/DiskImage.ts"
import * as FaultyFileSystem from "../src/disk/FaultyFileSystem.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const run = <A, E>(
  machine: FaultyFileSystem.FaultyFileSystem,
  program: (fs: FileSystem.FileSystem) => Effect.Effect<A, E, FileSystem.FileSystem | Path.Path>
) => Effect.flatMap(FileSystem.FileSystem, program).pipe(Effect.provide(machine.layer))

const codeOf = <A, R>(effect: Effect.Effect<A, PlatformError.PlatformError, R>) =>
  effect.pipe(
    Effect.flip,
    Effect.map(({ reason }) => [reason._tag, Object(reason.cause).code])
  )

const contents = (machine: FaultyFileSystem.FaultyFileSystem, path: string) =>
  new Set(
    [...CrashState.enumerate(machine.disk.snapshot())].map(({ image }) => {
      const found = DiskImage.read(image, path)
      return found && Buffer.from(found).toString()
    })
  )

describe("a sync that failed", () => {
  const withFailure = (fail: number) => {
    let syncs = 0
    return FaultyFileSystem.make({
      image: DiskImage.fromFiles({ "/a": "" }),
      fault: ({ call }) => (call === "sync" && syncs++ === fail ? FaultyFileSystem.error("EIO") : undefined)
    })
  }

  it.effect("leaves bytes that the program sees and no later sync saves", () =>
    Effect.gen(function* () {
      const machine = withFailure(0)
      yield* run(machine, (fs) =>
        Effect.scoped(
          Effect.gen(function* () {
            const file = yield* fs.open("/a", { flag: "a" })
            yield* file.write(bytes("x"))
            assert.deepStrictEqual(yield* codeOf(file.sync), ["Unknown", "EIO"])
            yield* file.sync
            assert.strictEqual(yield* fs.readFileString("/a"), "x")
            assert.deepStrictEqual(contents(machine, "/a"), new Set(["", "x", "\0"]))
            yield* file.write(bytes("y"))
            yield* file.sync
            assert.deepStrictEqual(contents(machine, "/a"), new Set(["xy", "\0y"]))
          })
        )
      )
    })
  )

  it.effect("is made good by writing again", () =>
    Effect.gen(function* () {
      const machine = withFailure(0)
      yield* run(machine, (fs) =>
        Effect.scoped(
          Effect.gen(function* () {
            const file = yield* fs.open("/a", { flag: "r+" })
            yield* file.write(bytes("xyz"))
            yield* Effect.flip(file.sync)
            yield* file.seek(0n, "start")
            yield* file.write(bytes("xyz"))
            assert.isTrue(contents(machine, "/a").has(""))
            yield* file.sync
            assert.deepStrictEqual(contents(machine, "/a"), new Set(["xyz"]))
          })
        )
      )
    })
  )

  it.effect("of a directory leaves names that no later sync saves", () =>
    Effect.gen(function* () {
      const machine = withFailure(0)
      yield* run(machine, (fs) =>
        Effect.scoped(
          Effect.gen(function* () {
            const root = yield* fs.open("/", { flag: "r" })
            yield* fs.writeFileString("/new", "")
            assert.deepStrictEqual(yield* codeOf(root.sync), ["Unknown", "EIO"])
            yield* root.sync
            assert.deepStrictEqual(contents(machine, "/new"), new Set([undefined, ""]))
            yield* fs.rename("/new", "/newer")
            yield* root.sync
            assert.deepStrictEqual(contents(machine, "/newer"), new Set([""]))
          })
        )
      )
    })
  )

  it.effect("is not noticed when it is ignored, and nothing is durable", () =>
    Effect.gen(function* () {
      const machine = FaultyFileSystem.make({
        image: DiskImage.fromFiles({ "/a": "" }),
        fault: ({ call }) => (call === "sync" ? FaultyFileSystem.ignored : undefined)
      })
      const program = Effect.fnUntraced(function* (fs: FileSystem.FileSystem) {
        const file = yield* fs.open("/a", { flag: "a" })
        yield* file.write(bytes("x"))
        yield* file.sync
      }, Effect.scoped)
      yield* run(machine, program)
      assert.deepStrictEqual(contents(machine, "/a"), new Set(["", "x", "\0"]))
    })
  )
})

describe("a full disk", () => {
  it.effect("writes short first, then nothing, and goes on when there is room", () =>
    Effect.gen(function* () {
      const machine = FaultyFileSystem.make({ capacityBytes: 10 })
      yield* run(machine, (fs) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* fs.writeFileString("/other", "1234")
            const file = yield* fs.open("/a", { flag: "a" })
            assert.strictEqual(yield* file.write(bytes("abcdefgh")), 6)
            assert.deepStrictEqual(yield* codeOf(file.write(bytes("gh"))), ["Unknown", "ENOSPC"])
            assert.strictEqual(yield* fs.readFileString("/a"), "abcdef")
            yield* fs.remove("/other")
            assert.strictEqual(yield* file.write(bytes("gh")), 2)
            yield* file.truncate(1)
            assert.strictEqual(machine.disk.usedBytes, 1)
            assert.strictEqual(yield* file.write(bytes("x".repeat(20))), 9)
            machine.setCapacity(undefined)
            assert.strictEqual(yield* file.write(bytes("x".repeat(20))), 20)
          })
        )
      )
    })
  )

  it.effect("lets bytes be overwritten, and gets those of removed files back when they are closed", () =>
    Effect.gen(function* () {
      const machine = FaultyFileSystem.make({ capacityBytes: 4, image: DiskImage.fromFiles({ "/a": "1234" }) })
      yield* run(machine, (fs) =>
        Effect.gen(function* () {
          yield* Effect.scoped(
            Effect.gen(function* () {
              const file = yield* fs.open("/a", { flag: "r+" })
              assert.strictEqual(yield* file.write(bytes("abcdef")), 4)
              yield* fs.remove("/a")
              assert.deepStrictEqual(yield* codeOf(fs.writeFileString("/b", "1")), ["Unknown", "ENOSPC"])
            })
          )
          yield* fs.writeFileString("/b", "1")
          assert.strictEqual(machine.disk.usedBytes, 1)
          // A file that is written whole keeps what fitted.
          assert.deepStrictEqual(yield* codeOf(fs.writeFileString("/c", "23456")), ["Unknown", "ENOSPC"])
          assert.strictEqual(yield* fs.readFileString("/c"), "234")
        })
      )
    })
  )
})

describe("a call", () => {
  it.effect("tells device and inode of a handle, which its path shares until another file has that name", () =>
    run(FaultyFileSystem.make({ image: DiskImage.fromFiles({ "/a": "one", "/b": "two" }) }), (fs) =>
      Effect.scoped(
        Effect.gen(function* () {
          const file = yield* fs.open("/a", { flag: "r+" })
          const identity = ({ dev, ino }: FileSystem.File.Info) => ({ dev, ino })
          const opened = identity(yield* file.stat)
          assert.deepStrictEqual(identity(yield* fs.stat("/a")), opened)
          yield* fs.link("/a", "/backup")
          yield* fs.rename("/b", "/a")
          assert.deepStrictEqual(identity(yield* file.stat), opened)
          assert.deepStrictEqual(identity(yield* fs.stat("/backup")), opened)
          assert.notDeepEqual(identity(yield* fs.stat("/a")), opened)
        })
      )
    )
  )

  it.effect("is recorded with what it asked and got", () =>
    Effect.gen(function* () {
      const machine = FaultyFileSystem.make({
        fault: ({ length }) => (length === 5 ? FaultyFileSystem.short(2) : undefined)
      })
      yield* run(machine, (fs) => Effect.andThen(fs.writeFileString("/a", "hello"), Effect.ignore(fs.stat("/b"))))
      assert.deepStrictEqual(machine.operations.map(FaultyFileSystem.describe), [
        "#0 open /a (w)",
        "#1 write 5 bytes at 0 of /a",
        "#2 write 3 bytes at 2 of /a",
        "#3 close /a",
        "#4 stat /b: ENOENT"
      ])
      assert.deepStrictEqual(
        machine.operations.map(({ count }) => count),
        [undefined, 2, 3, undefined, undefined]
      )
    })
  )

  it.effect("fails as it would in the node layer", () =>
    Effect.gen(function* () {
      for (const [code, tag] of [
        ["EACCES", "PermissionDenied"],
        ["ENOSPC", "Unknown"],
        ["EBUSY", "Busy"]
      ] as const) {
        const machine = FaultyFileSystem.make({ fault: () => FaultyFileSystem.error(code) })
        assert.deepStrictEqual(yield* codeOf(run(machine, (fs) => fs.rename("/a", "/b"))), [tag, code])
      }
    })
  )

  it.effect("that closes a handle dies when it fails", () =>
    Effect.gen(function* () {
      const machine = FaultyFileSystem.make({
        fault: ({ call }) => (call === "close" ? FaultyFileSystem.error("EIO") : undefined)
      })
      const exit = yield* Effect.exit(run(machine, (fs) => Effect.scoped(fs.open("/a", { flag: "w" }))))
      assert(Exit.isFailure(exit))
      assert.isTrue(Cause.hasDies(exit.cause))
      assert.include(Cause.pretty(exit.cause), "EIO")
    })
  )

  it.effect("dies after a halt, and nothing is undone", () =>
    Effect.gen(function* () {
      const machine = FaultyFileSystem.make({ haltAfter: 3 })
      const exit = yield* Effect.exit(
        run(machine, (fs) =>
          Effect.scoped(
            Effect.gen(function* () {
              const dir = yield* fs.makeTempDirectoryScoped()
              yield* fs.writeFileString(`${dir}/a`, "1")
              yield* fs.writeFileString(`${dir}/b`, "2")
            })
          )
        )
      )
      assert(Exit.isFailure(exit))
      assert.instanceOf(Cause.squash(exit.cause), FaultyFileSystem.Halted)
      assert.strictEqual(machine.operations.length, 4)
      assert.strictEqual(DiskImage.print(machine.disk.image()), '/tmp/\n/tmp/000001/\n/tmp/000001/a 1 "1"')
      const next = FaultyFileSystem.boot(machine.disk.image())
      assert.deepStrictEqual(yield* run(next, (fs) => fs.readDirectory("/tmp/000001")), ["a"])
    })
  )

  it.effect("that is not simulated says so", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(run(FaultyFileSystem.make(), (fs) => fs.symlink("/a", "/b")))
      assert(Exit.isFailure(exit))
      assert.include(Cause.pretty(exit.cause), "does not simulate FileSystem.symlink")
    })
  )

  it.effect("lets other fibers take turns when asked to", () =>
    Effect.gen(function* () {
      const order = Effect.fnUntraced(function* (interleave: boolean) {
        const machine = FaultyFileSystem.make({ interleave })
        const write = (name: string) =>
          run(machine, (fs) => Effect.andThen(fs.writeFileString(`/${name}1`, ""), fs.writeFileString(`/${name}2`, "")))
        const fibers = [yield* Effect.forkChild(write("a")), yield* Effect.forkChild(write("b"))]
        yield* Effect.forEach(fibers, Fiber.join)
        return machine.operations.flatMap(({ call, path }) => (call === "open" ? [path] : [])).join(" ")
      })
      assert.strictEqual(yield* order(false), "/a1 /a2 /b1 /b2")
      assert.strictEqual(yield* order(true), "/a1 /b1 /a2 /b2")
    })
  )
})

it.effect("gives streams, sinks, globs and temporary files that are derived from its calls", () =>
  Effect.gen(function* () {
    const machine = FaultyFileSystem.make({ image: DiskImage.fromFiles({ "/d/a.txt": "a", "/d/e/b.txt": "b" }) })
    yield* run(machine, (fs) =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* fs.glob("**/*.txt", { root: "/d" })).sort(), ["a.txt", "e/b.txt"])
        const path = yield* Effect.scoped(fs.makeTempFileScoped({ suffix: ".x" }))
        assert.match(path, /^\/tmp\/.*\.x$/)
        assert.isFalse(yield* fs.exists(path))
      })
    )
  })
)
