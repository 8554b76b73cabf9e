/**
 * Mutants of the store, which the crash tests must catch: one leaves out one kind of sync, one renames before the data is
 * written, one takes a short write for a whole one. The mutants are file systems that ignore some calls; the store itself
 * is unchanged.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Context from "effect/Context"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import { CrashFinding } from "@pi-sessions/testing/disk/CrashExplorer"
import * as DiskImage from "@pi-sessions/testing/disk/DiskImage"
import * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import { type Options, type Program, explore, run } from "../support/crashExploring.ts"
import * as crash from "../support/crashSession.ts"
import * as settings from "../support/settings.ts"
import * as StoreLayer from "../support/storeLayer.ts"
import * as workloads from "../support/crashWorkloads.ts"

const { source } = workloads
const withSource = crash.imageOf({ [source.path]: source.bytes })

const appending: Program = { name: "appending", workload: workloads.appending, image: crash.imageOf() }
const sealing: Program = { name: "sealing", workload: workloads.sealing, image: crash.imageOf() }
const checkpointing: Program = { name: "checkpointing", workload: workloads.checkpointing, image: crash.imageOf() }
const migrating: Program = { name: "migrating", workload: workloads.migrating, image: withSource, source }
const rollingBack: Program = { name: "rolling back", workload: workloads.rollingBack, image: withSource, source }
const exporting: Program = { name: "exporting", workload: workloads.exporting, image: withSource, source }

/** The first crash that a program does not survive; undefined when there is none. */
const firstFinding = (program: Program, options: Partial<Options> = {}) =>
  explore(program, { seed: settings.firstSeed, statesPerBoundary: 24, ...options }).pipe(
    Effect.as(undefined),
    Effect.catch((error) => (error instanceof CrashFinding ? Effect.succeed(error) : Effect.fail(error)))
  )

const ignoring = (path: RegExp): Options["fileSystem"] => ({
  fault: (call) => (call.call === "sync" && path.test(call.path) ? FaultyFileSystem.ignored : undefined)
})

/** Mutants that a small dose runs; a campaign runs them all. */
const QUICK = new Set(["a segment", "a segment's name", "the open segment", "renames the marker before its bytes"])

const caught = (name: string, program: Program, by: RegExp, options: Partial<Options>) => {
  if (!settings.isCampaign && !QUICK.has(name)) return
  it.effect(`${name}: caught while ${program.name}`, () =>
    Effect.gen(function* () {
      const finding = yield* firstFinding(program, options)
      assert(finding !== undefined, "no crash reveals it")
      settings.note(`${name}: ${finding.reason}`)
      assert.match(finding.reason, by)
    })
  )
}

const LOST =
  /lines of \d+ acknowledged|is not what was written|ends within a frame|holds no session header|no such file/

describe("a store that leaves out the sync of", () => {
  caught("a segment", appending, LOST, { fileSystem: ignoring(/\.seg$/) })
  caught("a segment's name", appending, LOST, { fileSystem: ignoring(/\/segments$/) })
  caught("a second segment's name", sealing, LOST, { fileSystem: ignoring(/s1\.v2\/segments$/) })
  caught("the index", checkpointing, /INV-003|repaired/, { fileSystem: ignoring(/offsets\.jsonl$/) })
  caught("the index's name", checkpointing, /INV-003|repaired/, { fileSystem: ignoring(/\/index$/) })
  caught("a manifest before its rename", checkpointing, /manifest/, { fileSystem: ignoring(/manifest\.json$/) })
  caught("the manifest's name", migrating, /INV-007|the end of the migration/, {
    fileSystem: ignoring(/(s1\.v2|\/tmp)$/)
  })
  caught("the marker before its rename", migrating, /marker|active/, { fileSystem: ignoring(/active\.json\.tmp$/) })
  caught("the session directory after a rename", migrating, /no session store here|INV-007/, {
    fileSystem: ignoring(/\/sessions$/)
  })
  caught("a checkpoint before its rename", checkpointing, /checkpoint/, { fileSystem: ignoring(/checkpoint\.json$/) })
  caught("a checkpoint's name", checkpointing, /checkpoint/, { fileSystem: ignoring(/\/(checkpoints|tmp)$/) })
  caught("an export before its rename", exporting, LOST, { fileSystem: ignoring(/rollback-1\.jsonl\.tmp$/) })
  caught("the ledger", migrating, /ledger/, { fileSystem: ignoring(/ledger\.jsonl$/) })
  caught("the ledger's name", migrating, /ledger/, { fileSystem: ignoring(/\/migrations$/) })
  caught("the directories of a new container", migrating, /INV-005|no manifest/, {
    fileSystem: ignoring(/staging-\d+$/)
  })
})

describe("a store that continues after a kill from unsynced data, and leaves out the sync of", () => {
  const resuming = (
    name: string,
    program: Program,
    by: RegExp,
    path: RegExp,
    kill: (call: FaultyFileSystem.Operation) => boolean
  ) => {
    if (!settings.isCampaign && !QUICK.has(name)) return
    it.effect(`${name}: caught after ${program.name}`, () =>
      Effect.gen(function* () {
        const { machine } = yield* run(program, {}, FaultyFileSystem.make)
        let found: CrashFinding | undefined
        for (const call of machine.operations) {
          if (!kill(call) || found !== undefined) continue
          const { index } = call
          const killed = yield* run(program, { haltAfter: index }, FaultyFileSystem.make)
          // Only the recovery's own syncs: those before the next entry.
          let wrote = false
          const before = killed.machine.disk.image()
          const fault: FaultyFileSystem.Options["fault"] = (call) => {
            const end = DiskImage.read(before, call.path)?.length ?? 0
            wrote ||= call.call === "write" && call.path.endsWith(".seg") && (call.offset ?? 0) >= end
            return !wrote && call.call === "sync" && path.test(call.path) ? FaultyFileSystem.ignored : undefined
          }
          const resumed = { ...program, name: "resuming", workload: workloads.resuming(killed.known) }
          found = yield* firstFinding(resumed, { budget: 40, fileSystem: { fault, disk: killed.machine.disk } })
        }
        assert(found !== undefined, "no crash reveals it")
        settings.note(`${name}, after a kill: ${found.reason}`)
        assert.match(found.reason, by)
      })
    )
  }
  resuming("the open segment", appending, LOST, /\.seg$/, ({ call, path }) => call === "write" && path.endsWith(".seg"))
  resuming("its name", sealing, LOST, /\/segments$/, ({ call, path }) => call === "sync" && path.endsWith(".seg"))
  resuming(
    "the manifest's name",
    migrating,
    /acknowledged|INV-003|INV-007|the end of the migration/,
    /(s1\.v2|\/tmp)$/,
    ({ call, to }) => call === "rename" && (to ?? "").endsWith("s1.v2/manifest.json")
  )
})

type Mutate = (fs: FileSystem.FileSystem) => FileSystem.FileSystem

/** A program on a file system that misbehaves. */
const through = (program: Program, mutate: Mutate): Program => {
  const mutated = Layer.effectContext(
    Effect.map(Effect.context<FileSystem.FileSystem | Path.Path>(), (given) =>
      Context.add(given, FileSystem.FileSystem, mutate(Context.get(given, FileSystem.FileSystem)))
    )
  )
  return {
    ...program,
    workload: (ledger) => program.workload(ledger).pipe(Effect.provide(StoreLayer.over(mutated), { local: true }))
  }
}

const wrapFiles =
  (path: RegExp, wrap: (file: FileSystem.File) => Partial<FileSystem.File>): Mutate =>
  (fs) => ({
    ...fs,
    open: (name, options) =>
      Effect.map(fs.open(name, options), (file) => (path.test(name) ? { ...file, ...wrap(file) } : file))
  })

/** Holds back the data of a file until the file was renamed. */
const renamesFirst =
  (path: RegExp): Mutate =>
  (fs) => {
    const held = new Map<string, Array<Uint8Array>>()
    return {
      ...fs,
      open: (name, options) =>
        Effect.map(fs.open(name, options), (file) => {
          if (!path.test(name)) return file
          const pieces: Array<Uint8Array> = []
          held.set(name, pieces)
          return {
            ...file,
            write: (bytes) => Effect.sync(() => (pieces.push(Uint8Array.from(bytes)), bytes.length)),
            sync: Effect.void
          }
        }),
      rename: Effect.fnUntraced(function* (from, to) {
        yield* fs.rename(from, to)
        const pieces = held.get(from)
        held.delete(from)
        if (pieces === undefined) return
        yield* Effect.scoped(
          Effect.gen(function* () {
            const file = yield* fs.open(to, { flag: "r+" })
            for (const piece of pieces) yield* file.write(piece)
            yield* file.sync
          })
        )
      })
    }
  }

/** Holds back the data of segments until the index is synced. */
const indexesFirst: Mutate = (fs) => {
  let held: Array<Effect.Effect<unknown, never>> = []
  const writeLater = Effect.fnUntraced(
    function* (name: string, bytes: Uint8Array, at: bigint) {
      const file = yield* fs.open(name, { flag: "r+" })
      yield* file.seek(at, "start")
      yield* file.write(bytes)
      yield* file.sync
    },
    Effect.scoped,
    Effect.orDie
  )
  const release = Effect.suspend(() => {
    const all = held
    held = []
    return Effect.all(all, { discard: true })
  })
  return {
    ...fs,
    open: (name, options) =>
      Effect.map(fs.open(name, options), (file): FileSystem.File => {
        if (name.endsWith("offsets.jsonl")) return { ...file, sync: Effect.andThen(file.sync, release) }
        if (!name.endsWith(".seg") || options?.flag === "r") return file
        let position = 0n
        return {
          ...file,
          seek: (offset) => Effect.sync(() => (position = offset)),
          write: (bytes) => {
            const [copy, at] = [Uint8Array.from(bytes), position]
            held.push(writeLater(name, copy, at))
            return Effect.succeed(bytes.length)
          },
          sync: Effect.void
        }
      })
  }
}

/** So short that the store does not read back what it wrote. */
const oneGroup: Program = {
  name: "appending a group",
  image: crash.imageOf(),
  workload: (ledger) =>
    Effect.scoped(
      Effect.flatMap(workloads.create(ledger), (writer) => workloads.put(ledger, writer, workloads.entries(1, 3, 300)))
    )
}

describe("a store that", () => {
  caught("renames a manifest before its bytes", through(rollingBack, renamesFirst(/manifest\.json$/)), /manifest/, {})
  caught(
    "renames the marker before its bytes",
    through(migrating, renamesFirst(/active\.json\.tmp$/)),
    /marker|active/,
    {}
  )
  caught("indexes before the segment is there", through(sealing, indexesFirst), LOST, {})
  const shortened: Options["fileSystem"] = {
    fault: ({ call, path, length }) =>
      call === "write" && path.endsWith(".seg") && (length ?? 0) > 700 ? FaultyFileSystem.short(650) : undefined
  }
  const trusting = wrapFiles(/\.seg$/, (file) => ({
    write: (bytes) => Effect.map(file.write(bytes), () => bytes.length)
  }))
  caught("takes a short write for a whole one", through(oneGroup, trusting), LOST, { fileSystem: shortened })
})
