import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Dose from "../src/Dose.ts"
import * as CrashState from "../src/disk/CrashState.ts"
import * as DiskImage from "../src/disk/DiskImage.ts"
import * as FaultyFileSystem from "../src/disk/FaultyFileSystem.ts"
import * as SeededRandom from "../src/SeededRandom.ts"

const firstSeed = Dose.firstSeed()
const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 5, campaign: 100 })
const bytes = (text: string) => new TextEncoder().encode(text)

const sync = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path, { flag: "r" })
  yield* file.sync
}, Effect.scoped)

const append = Effect.fnUntraced(function* (path: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.writeFile(path, bytes(text), { flag: "a" })
})

/** Runs a program and gives what a power cut after it may leave, as text. */
const statesAfter = <E>(
  files: DiskImage.Files,
  program: (fs: FileSystem.FileSystem) => Effect.Effect<unknown, E, FileSystem.FileSystem>,
  options?: CrashState.CrashStateOptions
) =>
  Effect.gen(function* () {
    const machine = FaultyFileSystem.make({ image: DiskImage.fromFiles(files) })
    yield* Effect.flatMap(FileSystem.FileSystem, program).pipe(Effect.provide(machine.layer))
    const states = [...CrashState.enumerate(machine.disk.snapshot(), options)]
    return { machine, states, printed: states.map(({ image }) => DiskImage.print(image)) }
  })

describe("what a power cut leaves", () => {
  it.effect("is one state when all is synced", () =>
    Effect.gen(function* () {
      const { printed } = yield* statesAfter({ "/a": "old" }, () =>
        append("/a", " and new").pipe(Effect.andThen(sync("/a")))
      )
      assert.deepStrictEqual(printed, ['/a 11 "old and new"\n/tmp/'])
    })
  )

  it.effect("of a small append: each length, with and without zeros after it", () =>
    Effect.gen(function* () {
      const { printed } = yield* statesAfter({ "/a": "" }, () => append("/a", "xyz"))
      assert.deepStrictEqual(
        [...printed].sort(),
        ["", "x", "xy", "xyz", "x\0\0", "xy\0", "\0\0\0"]
          .map((text) => `/a ${text.length} ${JSON.stringify(text)}\n/tmp/`)
          .toSorted()
      )
    })
  )

  it.effect("of a truncate and a write after it: each of them or not", () =>
    Effect.gen(function* () {
      const { printed } = yield* statesAfter({ "/a": "old" }, (fs) => fs.writeFile("/a", bytes("n")))
      const expected = ['0 ""', '1 "n"', '1 "\\u0000"', '3 "old"', '3 "nld"'].map((text) => `/a ${text}\n/tmp/`)
      assert.deepStrictEqual([...printed].sort(), expected.toSorted())
    })
  )

  it.effect("of a large write: cuts at sectors, and later sectors without earlier ones", () =>
    Effect.gen(function* () {
      const { states } = yield* statesAfter({ "/a": "-".repeat(2000) }, (fs) =>
        Effect.scoped(
          Effect.gen(function* () {
            const file = yield* fs.open("/a", { flag: "r+" })
            yield* file.seek(100n, "start")
            yield* file.write(bytes("x".repeat(1500)))
            yield* file.write(bytes("!"))
          })
        )
      )
      const found = new Set(states.map(({ image }) => Buffer.from(DiskImage.read(image, "/a") ?? []).toString()))
      for (const cut of [512, 1024, 1536]) {
        assert.isTrue(found.has("-".repeat(100) + "x".repeat(cut - 100) + "-".repeat(2000 - cut)))
      }
      assert.isTrue(found.has("-".repeat(1536) + "x".repeat(64) + "!" + "-".repeat(399)))
      assert.isTrue(found.has("-".repeat(1600) + "!" + "-".repeat(399)))
      assert.strictEqual(found.size, states.length)
    })
  )

  it.effect("of a rename over unsynced data: also the new name without its bytes", () =>
    Effect.gen(function* () {
      const { printed } = yield* statesAfter({ "/m": "old" }, (fs) =>
        fs.writeFile("/m.tmp", bytes("n")).pipe(Effect.andThen(fs.rename("/m.tmp", "/m")))
      )
      const all = ['/m 3 "old"', '/m 0 ""', '/m 1 "n"', '/m 1 "\\u0000"']
      const before = ['/m.tmp 0 ""', '/m.tmp 1 "n"', '/m.tmp 1 "\\u0000"'].map((tmp) => `/m 3 "old"\n${tmp}`)
      assert.deepStrictEqual([...printed].sort(), [...all, ...before].map((files) => `${files}\n/tmp/`).toSorted())
    })
  )

  it.effect("of a rename between directories: one name or the other, and both directories make it durable", () =>
    Effect.gen(function* () {
      const files = { "/a/x": "1", "/b/": "" }
      const move = (fs: FileSystem.FileSystem) => fs.rename("/a/x", "/b/y")
      const before = '/a/\n/a/x 1 "1"\n/b/\n/tmp/'
      const after = '/a/\n/b/\n/b/y 1 "1"\n/tmp/'
      assert.deepStrictEqual((yield* statesAfter(files, move)).printed, [before, after])
      for (const directory of ["/a", "/b"]) {
        const { printed } = yield* statesAfter(files, (fs) => Effect.andThen(move(fs), sync(directory)))
        assert.deepStrictEqual(printed, [after])
      }
    })
  )

  it.effect("of a directory that was not made durable: nothing below it", () =>
    Effect.gen(function* () {
      const { printed } = yield* statesAfter({}, (fs) =>
        Effect.gen(function* () {
          yield* fs.makeDirectory("/d")
          yield* append("/d/a", "x")
          yield* sync("/d/a")
          yield* sync("/d")
        })
      )
      assert.deepStrictEqual([...printed].sort(), ['/d/\n/d/a 1 "x"\n/tmp/', "/tmp/"])
    })
  )
})

describe("the states of random programs", () => {
  const names = ["a", "b", "c", "d/a", "d/b", "e/a"] as const
  const directories = ["/", "/d", "/e"] as const

  interface World {
    /** Path to the bytes that are durable under it for certain. */
    readonly certain: Map<string, string>
    /** Path to bytes that are durable, whatever its name. */
    readonly content: Map<string, string>
    /** Each text that any file had at a call boundary, and each name. */
    readonly paths: Set<string>
  }

  const directoryOf = (path: string) => path.replace(/\/[^/]*$/, "") || "/"

  /** One random step; what it makes certain or uncertain is written down apart from the simulator. */
  const step = Effect.fnUntraced(function* (random: SeededRandom.SeededRandom, world: World, letter: string) {
    const fs = yield* FileSystem.FileSystem
    const path = `/${random.pick(names)}`
    const other = `/${random.pick(names)}`
    const { certain, content, paths } = world
    const read = (path: string) => Effect.orElseSucceed(fs.readFileString(path), () => undefined)
    const forget = (...changed: ReadonlyArray<string>) => {
      for (const path of changed) for (const table of [certain, content]) table.delete(path)
    }
    switch (random.int(6)) {
      case 0:
      case 1:
        forget(path)
        paths.add(path)
        return yield* append(path, letter.repeat(1 + random.int(random.chance(0.1) ? 1200 : 6)))
      case 2: {
        const text = yield* read(path)
        if (text === undefined) return
        yield* sync(path)
        return void content.set(path, text)
      }
      case 3: {
        const directory = random.pick(directories)
        yield* sync(directory)
        for (const [path, text] of content) if (directoryOf(path) === directory) certain.set(path, text)
        return
      }
      case 4: {
        const text = yield* read(path)
        if (text === undefined || path === other) return
        paths.add(other)
        const synced = content.get(path)
        forget(path, other)
        if (synced !== undefined) content.set(other, synced)
        return yield* fs.rename(path, other)
      }
      default:
        forget(path)
        return yield* Effect.ignore(fs.remove(path))
    }
  })

  const checkStates = (machine: FaultyFileSystem.FaultyFileSystem, world: World, where: string) => {
    const states = [...CrashState.enumerate(machine.disk.snapshot(), { seed: 1, limit: 60 })]
    const printed = states.map(({ image }) => DiskImage.print(image))
    assert.strictEqual(new Set(printed).size, printed.length, `${where}: states differ`)
    assert.include(printed.slice(0, 2), DiskImage.print(machine.disk.image()), `${where}: all done is what is seen`)
    const letters = new Map<number, number>()
    for (const { image, description } of states) {
      for (const [path, text] of world.certain) {
        const left = DiskImage.read(image, path)
        assert.strictEqual(left && Buffer.from(left).toString(), text, `${where}: ${path} in ${description}`)
      }
      letters.clear()
      for (const [path, inode] of DiskImage.paths(image)) {
        if (path.endsWith("/")) continue
        assert.isTrue(world.paths.has(path), `${where}: ${path} never was`)
        // Each letter was written to one file, so it cannot be in two: a rename is never half.
        for (const letter of new Set(image.files.get(inode))) {
          if (letter === 0) continue
          assert.isUndefined(letters.get(letter), `${where}: ${path} and another in ${description}`)
          letters.set(letter, inode)
        }
      }
    }
    return states.length
  }

  it.effect("hold what was synced and nothing that never was", () =>
    Effect.gen(function* () {
      let count = 0
      for (let seed = firstSeed; seed < firstSeed + WALKS; seed++) {
        const random = SeededRandom.make(seed)
        const image = DiskImage.fromFiles({ "/d/": "", "/e/": "" })
        const machine = FaultyFileSystem.make({ image })
        const world: World = { certain: new Map(), content: new Map(), paths: new Set() }
        for (let index = 0; index < 50; index++) {
          yield* step(random, world, String.fromCharCode(65 + index)).pipe(Effect.provide(machine.layer))
          count += checkStates(machine, world, `seed ${seed}, step ${index}`)
        }
        for (const name of names) yield* Effect.ignore(sync(`/${name}`)).pipe(Effect.provide(machine.layer))
        for (const directory of directories) yield* sync(directory).pipe(Effect.provide(machine.layer))
        const [only, ...others] = [...CrashState.enumerate(machine.disk.snapshot())]
        assert.isEmpty(others, `seed ${seed}`)
        assert.strictEqual(only && DiskImage.print(only.image), DiskImage.print(machine.disk.image()), `seed ${seed}`)
      }
      process.stdout.write(`CrashState: ${count} states of random programs hold\n`)
    })
  )
})

it.effect("makes thousands of states a second", () =>
  Effect.gen(function* () {
    const { machine } = yield* statesAfter({}, (fs) =>
      Effect.gen(function* () {
        yield* fs.makeDirectory("/s")
        for (let index = 0; index < 40; index++) yield* append(`/s/${index}`, "x".repeat(4000))
        for (let index = 0; index < 20; index++) yield* sync(`/s/${index}`)
        yield* sync("/")
        yield* sync("/s")
        for (let index = 0; index < 12; index++) yield* append(`/s/${index % 3}`, `${index} `.repeat(300))
        yield* fs.rename("/s/4", "/s/5")
      })
    )
    const limit = 10_000
    const start = performance.now()
    let bytes = 0
    let states = 0
    for (const { image } of CrashState.enumerate(machine.disk.snapshot(), { limit })) {
      states += 1
      for (const content of image.files.values()) bytes += content.length
    }
    const seconds = (performance.now() - start) / 1000
    assert.strictEqual(states, limit)
    const rate = Math.round(states / seconds)
    process.stdout.write(`CrashState: ${rate} states a second, of ${Math.round(bytes / states)} bytes in 40 files\n`)
    assert.isAbove(rate, 1000)
  })
)
