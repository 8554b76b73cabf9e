/** The real file system as the oracle: the same operations, through Effect's node layer and on the simulated disk. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Scope from "effect/Scope"
import * as Dose from "../src/Dose.ts"
import * as DiskImage from "../src/disk/DiskImage.ts"
import * as FaultyFileSystem from "../src/disk/FaultyFileSystem.ts"
import { temporaryFolder } from "../src/TemporaryFolder.ts"
import * as SeededRandom from "../src/SeededRandom.ts"

const firstSeed = Dose.firstSeed()
const rounds = Dose.of("PI_SESSIONS_ROUNDS", { test: 12, campaign: 200 })
const steps = 150

const flags = ["r", "r+", "w", "wx", "w+", "wx+", "a", "ax", "a+", "ax+"] as const

interface OpenFile {
  readonly file: FileSystem.File
  readonly scope: Scope.Closeable
}

/** One machine with its open files; `root` is where the test's folder is. */
interface Machine {
  readonly fs: FileSystem.FileSystem
  readonly root: string
  readonly open: Map<number, OpenFile>
}

type Step = (machine: Machine) => Effect.Effect<unknown, PlatformError.PlatformError>

const infoOf = (info: FileSystem.File.Info) => ({
  type: info.type,
  // The size of a directory is the file system's own.
  size: info.type === "File" ? info.size : 0n,
  nlink: info.nlink,
  mode: info.mode
})

const randomPath = (random: SeededRandom.SeededRandom): string => {
  const names = ["a", "b", "c", "d"] as const
  const depth = random.weighted([5, 1], [4, 2], [2, 3])
  const path = Array.from({ length: depth }, () => random.pick(names)).join("/")
  return random.chance(0.03) ? `${path}/` : path
}

const randomBytes = (random: SeededRandom.SeededRandom): Uint8Array => {
  const letter = 97 + random.int(26)
  return new Uint8Array(random.weighted([1, 0], [6, 1 + random.int(9)], [2, 600])).fill(letter)
}

/** An operation on an open file; a slot that holds none says so on both machines. */
const onHandle = (slot: number, use: (file: FileSystem.File) => ReturnType<Step>): Step =>
  Effect.fnUntraced(function* ({ open }) {
    const opened = open.get(slot)
    return opened === undefined ? "not open" : yield* use(opened.file)
  })

const openStep = (slot: number, path: string, flag: FileSystem.OpenFlag): Step =>
  Effect.fnUntraced(function* ({ fs, root, open }) {
    if (open.has(slot)) return "taken"
    const scope = yield* Scope.make()
    const file = yield* fs.open(`${root}/${path}`, { flag }).pipe(Scope.provide(scope))
    open.set(slot, { file, scope })
    return "opened"
  })

const closeStep = (slot: number): Step =>
  Effect.fnUntraced(function* ({ open }) {
    const opened = open.get(slot)
    if (opened === undefined) return "not open"
    open.delete(slot)
    yield* Scope.close(opened.scope, Exit.void)
    return "closed"
  })

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1")

const readStep = (slot: number, size: number, position: bigint | undefined): Step =>
  onHandle(slot, (file) =>
    Effect.map(file.readAlloc(size, { position }), (read) => Option.getOrUndefined(Option.map(read, text)))
  )

const handleStep = (random: SeededRandom.SeededRandom): readonly [string, Step] => {
  const slot = random.int(4)
  const bytes = randomBytes(random)
  const number = random.int(40)
  const position = random.chance(0.5) ? BigInt(random.int(30)) : undefined
  const path = randomPath(random)
  const flag = random.pick(flags)
  const at = position ?? "cursor"
  return random.weighted<readonly [string, Step]>(
    [6, [`open ${slot} ${path} ${flag}`, openStep(slot, path, flag)]],
    [2, [`close ${slot}`, closeStep(slot)]],
    [5, [`write ${slot} ${bytes.length}`, onHandle(slot, (file) => file.write(bytes))]],
    [3, [`writeAll ${slot} ${bytes.length}`, onHandle(slot, (file) => file.writeAll(bytes))]],
    [5, [`read ${slot} ${number} at ${at}`, readStep(slot, number, position)]],
    [1, [`seek ${slot} ${number}`, onHandle(slot, (file) => file.seek(BigInt(number), "start"))]],
    [1, [`seek ${slot} by ${number - 20}`, onHandle(slot, (file) => file.seek(BigInt(number - 20), "current"))]],
    [2, [`truncate ${slot} ${number}`, onHandle(slot, (file) => file.truncate(number % 3 === 0 ? undefined : number))]],
    [1, [`sync ${slot}`, onHandle(slot, (file) => file.sync)]],
    [2, [`stat ${slot}`, onHandle(slot, (file) => Effect.map(file.stat, infoOf))]]
  )
}

const entriesOf = (entries: ReadonlyArray<FileSystem.DirectoryEntry>) =>
  entries.map(({ name, type }) => `${name} ${type}`).sort()

const pathStep = (random: SeededRandom.SeededRandom): readonly [string, Step] => {
  const path = randomPath(random)
  const other = randomPath(random)
  const bytes = randomBytes(random)
  const flag = random.pick(flags)
  const recursive = random.chance(0.5)
  const force = random.chance(0.3)
  const length = random.int(20)
  const on =
    (use: (fs: FileSystem.FileSystem, path: string, other: string) => ReturnType<Step>): Step =>
    ({ fs, root }) =>
      use(fs, `${root}/${path}`, `${root}/${other}`)
  return random.weighted<readonly [string, Step]>(
    [8, [`makeDirectory ${path} ${recursive}`, on((fs, path) => Effect.asVoid(fs.makeDirectory(path, { recursive })))]],
    [8, [`writeFile ${path} ${flag}`, on((fs, path) => fs.writeFile(path, bytes, { flag }))]],
    [4, [`writeFileString ${path}`, on((fs, path) => fs.writeFileString(path, "naïve"))]],
    [3, [`readFile ${path}`, on((fs, path) => Effect.map(fs.readFile(path), text))]],
    [2, [`readFileString ${path}`, on((fs, path) => fs.readFileString(path))]],
    [7, [`rename ${path} ${other}`, on((fs, path, other) => fs.rename(path, other))]],
    [3, [`link ${path} ${other}`, on((fs, path, other) => fs.link(path, other))]],
    [2, [`copyFile ${path} ${other}`, on((fs, path, other) => fs.copyFile(path, other))]],
    [4, [`remove ${path} ${recursive} ${force}`, on((fs, path) => fs.remove(path, { recursive, force }))]],
    [2, [`truncate ${path} ${length}`, on((fs, path) => fs.truncate(path, length))]],
    [2, [`stat ${path}`, on((fs, path) => Effect.map(fs.stat(path), infoOf))]],
    [1, [`lstat ${path}`, on((fs, path) => Effect.map(fs.lstat(path), infoOf))]],
    [1, [`exists ${path}`, on((fs, path) => fs.exists(path))]],
    [1, [`access ${path}`, on((fs, path) => fs.access(path))]],
    [1, [`utimes ${path}`, on((fs, path) => fs.utimes(path, 7, 7))]],
    [1, [`chmod ${path}`, on((fs, path) => fs.chmod(path, 0o700))]],
    [
      1,
      [
        `realPath ${path}`,
        ({ fs, root }) => Effect.map(fs.realPath(`${root}/${path}`), (real) => real.slice(root.length))
      ]
    ],
    [
      2,
      [
        `readDirectory ${path} ${recursive}`,
        on((fs, path) => Effect.map(fs.readDirectory(path, { recursive }), (names) => names.sort()))
      ]
    ],
    [1, [`readDirectoryEntries ${path}`, on((fs, path) => Effect.map(fs.readDirectoryEntries(path), entriesOf))]]
  )
}

const wordedByNode = new Set(["remove", "realPath"])

/** What a step gave, with paths relative to the machine's folder and nothing of descriptors. */
const outcome = (step: Step, machine: Machine) =>
  step(machine).pipe(
    Effect.map((value) => ({ value })),
    Effect.catchTag("PlatformError", ({ reason }) => {
      const cause = Object(reason.cause)
      const at = "pathOrDescriptor" in reason ? reason.pathOrDescriptor : undefined
      return Effect.succeed({
        tag: reason._tag,
        module: reason.module,
        method: reason.method,
        code: cause.code,
        syscall: cause.syscall,
        path: typeof at === "string" ? at.slice(machine.root.length) : typeof at,
        // Node's own checks of `rm` and `realpath` name their paths in their own way.
        message: wordedByNode.has(reason.method) ? "" : String(cause.message).replaceAll(machine.root, "")
      })
    })
  )

const tree = (machine: Machine) =>
  Effect.gen(function* () {
    const { fs, root } = machine
    const found: Record<string, string> = {}
    for (const path of (yield* fs.readDirectory(root, { recursive: true })).sort()) {
      const info = yield* fs.stat(`${root}/${path}`)
      found[path] = info.type === "File" ? text(yield* fs.readFile(`${root}/${path}`)) : "/"
    }
    return found
  })

it.live("does what Effect's node layer does on a real disk", () =>
  Effect.gen(function* () {
    const realRoot = yield* temporaryFolder
    const realFs = yield* FileSystem.FileSystem
    let succeeded = 0
    let failed = 0
    for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
      const random = SeededRandom.make(seed)
      const image = DiskImage.fromFiles({ "/w/": "" })
      const { fs } = yield* Effect.map(FileSystem.FileSystem, (fs) => ({ fs })).pipe(
        Effect.provide(FaultyFileSystem.make({ image }).layer)
      )
      const real: Machine = { fs: realFs, root: `${realRoot}/${seed}`, open: new Map() }
      const simulated: Machine = { fs, root: "/w", open: new Map() }
      yield* realFs.makeDirectory(real.root)
      for (let index = 0; index < steps; index++) {
        const [name, step] = random.chance(0.45) ? handleStep(random) : pathStep(random)
        const expected = yield* outcome(step, real)
        assert.deepStrictEqual(yield* outcome(step, simulated), expected, `seed ${seed}, step ${index}: ${name}`)
        if ("tag" in expected) failed += 1
        else succeeded += 1
      }
      assert.deepStrictEqual(yield* tree(simulated), yield* tree(real), `seed ${seed}`)
      for (const machine of [real, simulated]) {
        for (const { scope } of machine.open.values()) yield* Scope.close(scope, Exit.void)
      }
    }
    yield* Effect.sync(() =>
      process.stdout.write(`FaultyFileSystem: ${succeeded} calls succeeded and ${failed} failed as on the real disk\n`)
    )
    assert.isAbove(succeeded, 50 * rounds)
    assert.isAbove(failed, 50 * rounds)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
