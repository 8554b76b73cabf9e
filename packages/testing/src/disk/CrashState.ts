/**
 * The disks that a power cut can leave, computed from a simulated disk.
 *
 * Each operation since the last sync of its file or directory is present or absent, in any combination: writes are lost
 * or reordered, a name exists without its bytes, a rename is durable before the data of its file. Operations on one
 * name keep their order, and a rename is atomic. A write can be cut at sector borders, and the last write of each file
 * at any byte. If it makes the file longer, the new length can be present with zeros as bytes, and later sectors can be
 * present without earlier ones.
 *
 * If there are few combinations, all are tried. Else: none, all, every prefix in program order, each operation lost,
 * each alone, each cut alone, all bytes of each file lost, all names or all bytes lost, and random ones. Equal disks
 * are returned once.
 *
 * Not covered: stale or garbage bytes where nothing was written, damage to durable data, arbitrary subsets of sectors
 * (a write is cut once), and parts of an unfinished sync.
 */
import * as DiskImage from "./DiskImage.ts"
import { choices, type Choice } from "./internal/crashChoices.ts"
import * as crashOutcome from "./internal/crashOutcome.ts"
import { applyEdits, type Entries } from "./internal/diskOperation.ts"
import * as fileContent from "./internal/fileContent.ts"
import * as SeededRandom from "../SeededRandom.ts"
import type { DiskSnapshot } from "./DiskSnapshot.ts"
import * as Zlib from "node:zlib"

/** One disk that a power cut can leave. */
export interface CrashState {
  /** Its number in the enumeration, which depends on the seed and the options. */
  readonly index: number
  /** Describes what became of the operations that were not durable. Computed on first use. */
  readonly description: string
  /** The disk to boot from. Computed on first use. */
  readonly image: DiskImage.DiskImage
}

/** Which states to make. */
export interface CrashStateOptions {
  readonly seed?: number | undefined
  /** Maximum number of different states. Default: 256. */
  readonly limit?: number | undefined
  /** Bytes that the disk writes atomically. Default: 512. */
  readonly sectorBytes?: number | undefined
  /**
   * Number of random bytes at which the last write of each file is cut, additional to its first, middle and last.
   * Default: 3.
   */
  readonly byteCuts?: number | undefined
}

// Stop after this many random choices without a new state.
const idleAtMost = 2000

/** Names without bytes: the directories and the reachable files, in order. */
interface Shape {
  readonly id: number
  readonly directories: ReadonlyMap<number, Entries>
  readonly files: ReadonlyArray<number>
}

const undecidedOf = (snapshot: DiskSnapshot, options: CrashStateOptions, random: SeededRandom.SeededRandom) => {
  const cuts = { sectorBytes: options.sectorBytes ?? 512, byteCuts: options.byteCuts ?? 3 }
  const items: Array<crashOutcome.Undecided> = snapshot.pending.map((entry) => ({
    sequence: entry.sequence,
    label: entry.label,
    outcomes: crashOutcome.ofEntry,
    entry
  }))
  for (const [inode, node] of snapshot.inodes) {
    if (node.kind === "directory") continue
    for (const content of node.operations) {
      if (content.status === "settled") continue
      const { sequence, label } = content
      const outcomes = crashOutcome.ofContent(content, content === node.operations.at(-1), cuts, random)
      items.push({ sequence, label, outcomes, inode, content })
    }
  }
  return items.sort((a, b) => a.sequence - b.sequence)
}

const describe = (items: ReadonlyArray<crashOutcome.Undecided>, choice: Choice): string => {
  if (items.length === 0) return "everything was durable"
  const done = choice.reduce((count, outcome) => count + (outcome === 1 ? 1 : 0), 0)
  if (done === items.length) return `all ${done} unsynced operations done`
  if (choice.every((outcome) => outcome === 0)) return `none of ${items.length} unsynced operations done`
  const rest = done * 2 > items.length ? "done" : "not done"
  const listed = items.flatMap(({ label, outcomes }, at) => {
    const text = outcomes[choice[at] ?? 0]?.text ?? ""
    return text === rest ? [] : [`${label} ${text}`]
  })
  const more = listed.length > 12 ? `, and ${listed.length - 12} more` : ""
  return `${listed.slice(0, 12).join("; ")}${more}; the rest of ${items.length} unsynced operations ${rest}`
}

/** Numbers contents: equal bytes have equal numbers. */
const makeNumbering = () => {
  const numbers = new WeakMap<fileContent.FileContent, number>()
  const byHash = new Map<number, Array<readonly [fileContent.FileContent, number]>>()
  let last = 0
  return (content: fileContent.FileContent): number => {
    const known = numbers.get(content)
    if (known !== undefined) return known
    const hash = Zlib.crc32(content)
    const alike = byHash.get(hash) ?? []
    byHash.set(hash, alike)
    let number = alike.find(([other]) => Buffer.compare(other, content) === 0)?.[1]
    if (number === undefined) {
      last += 1
      number = last
      alike.push([content, number])
    }
    numbers.set(content, number)
    return number
  }
}

/** Resolves names, once for each set of present operations on them. */
const makeShapes = (snapshot: DiskSnapshot, items: ReadonlyArray<crashOutcome.Undecided>) => {
  const cache = new Map<string, Shape>()
  const ids = new Map<string, number>()
  const entries = items.flatMap((item, at) => (item.entry === undefined ? [] : [{ at, entry: item.entry }]))
  const pending = new Set(entries.map(({ entry }) => entry.sequence))
  const make = (done: ReadonlySet<number>): Shape => {
    const all = new Map(snapshot.durable)
    for (const { entry } of entries) if (done.has(entry.sequence)) applyEdits(all, entry.edits)
    const directories = new Map<number, Entries>()
    const files: Array<number> = []
    const names: Array<string> = []
    const visit = (inode: number, path: string) => {
      const below = all.get(inode) ?? new Map<string, number>()
      directories.set(inode, below)
      for (const name of [...below.keys()].sort()) {
        const child = below.get(name) ?? 0
        const isDirectory = snapshot.inodes.get(child)?.kind === "directory"
        // A second name of the same file.
        const known = files.indexOf(child)
        names.push(`${path}/${name}${isDirectory ? "/" : known >= 0 ? `=${known}` : ""}`)
        if (isDirectory) visit(child, `${path}/${name}`)
        else files.push(child)
      }
    }
    visit(DiskImage.root, "")
    const key = names.join("\0")
    const id = ids.get(key) ?? ids.size
    ids.set(key, id)
    return { id, directories, files }
  }
  /** Also changes the choice: an operation is absent if one that it needs is. */
  return (choice: Choice): Shape => {
    const done = new Set<number>()
    let key = ""
    for (const { at, entry } of entries) {
      let isDone = choice[at] === 1
      for (const need of entry.needs) if (pending.has(need) && !done.has(need)) isDone = false
      choice[at] = isDone ? 1 : 0
      if (isDone) done.add(entry.sequence)
      key += isDone ? "1" : "0"
    }
    const known = cache.get(key) ?? make(done)
    cache.set(key, known)
    return known
  }
}

/** Resolves bytes, once for each combination of outcomes of one file. */
const makeContents = (snapshot: DiskSnapshot, items: ReadonlyArray<crashOutcome.Undecided>) => {
  const cache = new Map<string, fileContent.FileContent>()
  const positions = new Map(items.map(({ sequence }, at) => [sequence, at]))
  return (inode: number, choice: Choice): fileContent.FileContent => {
    const node = snapshot.inodes.get(inode)
    if (node === undefined || node.kind === "directory") return fileContent.empty
    if (node.operations.length === 0) return node.durable
    const steps = node.operations.map((operation) => {
      const at = positions.get(operation.sequence)
      return { operation, at, outcome: at === undefined ? 1 : (choice[at] ?? 0) }
    })
    const key = `${inode}:${steps.map(({ outcome }) => outcome).join()}`
    const known = cache.get(key)
    if (known !== undefined) return known
    let content = node.durable
    for (const { operation, at, outcome } of steps) {
      const chosen = at === undefined ? undefined : items[at]?.outcomes[outcome]
      content = crashOutcome.apply(content, operation, chosen ?? crashOutcome.done)
    }
    cache.set(key, content)
    return content
  }
}

/** Returns the different states that a power cut can leave now: nothing done, all done, then others. */
export function* enumerate(snapshot: DiskSnapshot, options: CrashStateOptions = {}): Generator<CrashState> {
  const limit = options.limit ?? 256
  const random = SeededRandom.make(options.seed ?? 0)
  const items = undecidedOf(snapshot, options, random)
  const shapeOf = makeShapes(snapshot, items)
  const contentOf = makeContents(snapshot, items)
  const numberOf = makeNumbering()
  const seen = new Set<string>()
  let idle = 0
  for (const choice of choices(items, limit, random)) {
    // All systematic choices were tried, and random ones find nothing new.
    if (seen.size >= limit || idle > Math.min(4 * limit + 64, idleAtMost)) return
    const shape = shapeOf(choice)
    const contents = shape.files.map((inode) => contentOf(inode, choice))
    const key = `${shape.id}:${contents.map(numberOf).join()}`
    idle += 1
    if (seen.has(key)) continue
    idle = 0
    yield {
      index: seen.size,
      get description() {
        return describe(items, choice)
      },
      get image() {
        return {
          directories: shape.directories,
          files: new Map(shape.files.map((inode, at) => [inode, contents[at] ?? fileContent.empty]))
        }
      }
    }
    seen.add(key)
  }
}
