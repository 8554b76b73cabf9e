/** Explores crashes of programs that use a store. */
import { Effect } from "effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as CrashExplorer from "@pi-sessions/testing/disk/CrashExplorer"
import type * as DiskImage from "@pi-sessions/testing/disk/DiskImage"
import type * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import { type SessionStore } from "../../src/SessionStore.ts"
import { type StoreMigration } from "../../src/StoreMigration.ts"
import * as crash from "./crashSession.ts"
import * as StoreLayer from "./storeLayer.ts"

/** A program over the services of a store. */
export type Workload = (
  ledger: crash.Ledger
) => Effect.Effect<unknown, unknown, SessionStore | StoreMigration | FileSystem.FileSystem | Path.Path>

/** A program and the disk that it starts from. */
export interface Program {
  readonly name: string
  readonly workload: Workload
  readonly image: DiskImage.DiskImage
  readonly source?: crash.Known["source"]
}

/** The store's services over the file system that a program is given. */
const onGiven = StoreLayer.over(Layer.effectContext(Effect.context<FileSystem.FileSystem | Path.Path>()))

export interface Options {
  readonly seed: number
  readonly budget?: number
  readonly statesPerBoundary?: number
  readonly sectorBytes?: number
  readonly byteCuts?: number
  readonly fileSystem?: CrashExplorer.ExploreOptions<crash.Promised, unknown>["fileSystem"]
  /** In one state of so many, appending and moving continue, which takes ten times as long. Default: never. */
  readonly goesOnEvery?: number
  /** A further check of one state in so many. */
  readonly sample?: {
    readonly every: number
    readonly use: (image: DiskImage.DiskImage, known: crash.Known) => Effect.Effect<void, unknown>
  }
}

/** Checks the crash states of a program, within the budget. */
export const explore = (program: Program, options: Options) => {
  let seen = 0
  return CrashExplorer.explore<crash.Promised, unknown>({
    ...options,
    image: program.image,
    statesPerBoundary: options.statesPerBoundary ?? 24,
    fileSystem: { interleave: true, ...options.fileSystem },
    workload: (ledger) => program.workload(ledger).pipe(Effect.provide(onGiven, { local: true })),
    check: Effect.fnUntraced(function* (image, context) {
      const known = { ...context, source: program.source }
      seen += 1
      const goesOn = seen % (options.goesOnEvery ?? Infinity) === 0
      yield* Effect.gen(function* () {
        const after = yield* crash.check(known, context.machine)
        if (goesOn) yield* crash.goOn(after, known)
      }).pipe(Effect.provide(crash.over(context.machine), { local: true }))
      if (options.sample !== undefined && seen % options.sample.every === 0) yield* options.sample.use(image, known)
    })
  })
}

/** Runs a program on a machine to its end, or until the machine is halted. */
export const run = Effect.fnUntraced(function* (
  program: Program,
  options: Omit<FaultyFileSystem.Options, "image" | "disk">,
  make: (options: FaultyFileSystem.Options) => FaultyFileSystem.FaultyFileSystem
) {
  const acknowledged: Array<crash.Promised> = []
  const attempted: Array<crash.Promised> = []
  const machine = make({ interleave: true, ...options, image: program.image })
  // A retried entry comes after those that were tried meanwhile.
  const attempt = (one: crash.Promised) => {
    const before = "line" in one ? attempted.findIndex((other) => "line" in other && other.line === one.line) : -1
    if (before >= 0) attempted.splice(before, 1)
    attempted.push(one)
  }
  const ledger = { attempt, acknowledge: (one: crash.Promised) => void acknowledged.push(one) }
  const exit = yield* Effect.exit(program.workload(ledger).pipe(Effect.provide(crash.over(machine))))
  return { machine, exit, known: { acknowledged, attempted, source: program.source } satisfies crash.Known }
})
