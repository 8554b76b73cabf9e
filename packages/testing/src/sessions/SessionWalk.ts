/**
 * Seeded random walks through a real Pi's `SessionManager`: genuine session files with every kind of entry.
 *
 * A seed decides what is done; Pi's ids and clock stay its own, so two walks with a seed have the same operations but
 * not the same bytes. The final state is on disk: opening the file gives the same entries and the same leaf.
 */
import * as Fs from "node:fs"
import * as PiModule from "../pi/PiModule.ts"
import type * as PiVersion from "../pi/PiVersion.ts"
import * as RandomMessage from "./RandomMessage.ts"
import * as SeededRandom from "../SeededRandom.ts"
import * as WalkOperation from "./WalkOperation.ts"

/** What a walk is to be. */
export interface SessionWalkOptions {
  readonly seed: number
  /** Number of operations. Default: 40. A few more open and close the session. */
  readonly steps?: number | undefined
  /** The folder for the session files. */
  readonly dir: string
  /** The working folder that the session says it ran in. */
  readonly cwd: string
}

/** A finished walk. */
export interface SessionWalk {
  readonly version: PiVersion.PiVersion
  readonly seed: number
  /** Still open, at the end of the walk. */
  readonly manager: PiModule.PiSessionManager
  /** The file that `manager` writes. */
  readonly file: string
  /** All files the walk left, oldest first, `file` last. Each but the first is a fork of an earlier one. */
  readonly files: ReadonlyArray<string>
  readonly operations: ReadonlyArray<WalkOperation.WalkOperation>
}

// 5 January 2026, 10:00 UTC: messages have this time or a later one.
const start = Date.UTC(2026, 0, 5, 10)

/** The settings with which Pi opens a session. */
const opening = (state: WalkOperation.WalkState): ReadonlyArray<WalkOperation.WalkOperation> => {
  const { messages } = state
  if (messages.random.chance(0.2)) return []
  const { provider, model } = messages.random.pick(RandomMessage.models)
  return [
    { op: "model", provider, model },
    { op: "thinkingLevel", level: messages.random.pick(["off", "medium"]) },
    ...(messages.version === "0.78" ? [] : [{ op: "message" as const, message: RandomMessage.system(messages) }])
  ]
}

const isOnDisk = (manager: PiModule.PiSessionManager): boolean => {
  const file = manager.getSessionFile()
  return file !== undefined && Fs.existsSync(file) && manager.getEntries().at(-1)?.id === manager.getLeafId()
}

/** Walks at random, in a new session. */
export const walk = async (version: PiVersion.PiVersion, options: SessionWalkOptions): Promise<SessionWalk> => {
  const { SessionManager } = await PiModule.load(version)
  const manager = SessionManager.create(options.cwd, options.dir)
  const operations: Array<WalkOperation.WalkOperation> = []
  const files = new Set<string>()
  const perform = (operation: WalkOperation.WalkOperation): void => {
    WalkOperation.apply(manager, operation)
    operations.push(operation)
    const file = manager.getSessionFile()
    if (file !== undefined) files.add(file)
  }

  const messages = { version, random: SeededRandom.make(options.seed), clock: start, serial: 0 }
  const state = { messages, openCalls: [], assistantIsNext: false }
  opening(state).forEach(perform)
  for (let step = 0; step < (options.steps ?? 40); step++) perform(WalkOperation.choose(state, manager))
  // A session without an assistant message may have no file, and a moved leaf is only in memory.
  if (!isOnDisk(manager)) perform({ op: "message", message: RandomMessage.assistant(messages).message })

  const file = manager.getSessionFile()
  if (file === undefined) throw new Error(`Pi ${version} keeps no file for the walk with seed ${options.seed}`)
  // A session that was forked before Pi found it worth keeping never had a file.
  const left = [...files].filter((name) => Fs.existsSync(name))
  return { version, seed: options.seed, manager, file, files: left, operations }
}
