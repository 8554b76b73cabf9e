/**
 * The disks that a power cut may leave, from a simulated disk at any moment.
 *
 * Each operation since the last sync of its file or directory may be done or not, in any combination: so writes are
 * lost or overtake each other, a name is there without its bytes, a rename is durable before the data of the file it
 * names. Operations on one name keep their order, and a rename is never half. A write may also be cut at the borders of
 * sectors, and the last one of each file at any byte; where it makes the file longer, the length may be there with zeros
 * in place of the bytes; and its later sectors may be there without the earlier ones.
 *
 * All combinations are tried when they are few. Else: none, all, every prefix in the order of the program, each one
 * lost, each one alone, each cut alone, all bytes of each file lost, all names or all bytes lost, and random ones.
 * States with the same names and bytes are given once.
 *
 * Not among them: stale or garbage bytes where nothing was written, damage to what was durable, sectors in every
 * subset (a write is cut once), and part of a sync that was under way but not done.
 */
import * as DiskImage from "./DiskImage.ts"
import { choices, type Choice } from "./internal/crashChoices.ts"
import * as crashOutcome from "./internal/crashOutcome.ts"
import { applyEdits, type Entries } from "./internal/diskOperation.ts"
import * as fileContent from "./internal/fileContent.ts"
import * as SeededRandom from "./SeededRandom.ts"
import type { DiskSnapshot } from "./DiskSnapshot.ts"
import * as Zlib from "node:zlib"

/** One disk that may be left. */
export interface CrashState {
  /** Its place in the enumeration, which the seed and the options decide. */
  readonly index: number
  /** What became of the operations that were not durable; made when asked for. */
  readonly description: string
  /** What to boot from; made when asked for. */
  readonly image: DiskImage.DiskImage
}

/** Which states to make. */
export interface CrashStateOptions {
  readonly seed?: number | undefined
  /** How many different states at most; 256 unless told. */
  readonly limit?: number | undefined
  /** What the disk writes as one; 512 unless told. */
  readonly sectorBytes?: number | undefined
  /** How many random bytes to cut the last write of each file at, beside its first, middle and last; 3 unless told. */
  readonly byteCuts?: number | undefined
}

// Random choices in a row that give nothing new, after which none is expected.
const idleAtMost = 2000

/** Names without bytes: the directories there are, and the files that can be reached, in order. */
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
  const told = items.flatMap(({ label, outcomes }, at) => {
    const text = outcomes[choice[at] ?? 0]?.text ?? ""
    return text === rest ? [] : [`${label} ${text}`]
  })
  const more = told.length > 12 ? `, and ${told.length - 12} more` : ""
  return `${told.slice(0, 12).join("; ")}${more}; the rest of ${items.length} unsynced operations ${rest}`
}

/** Numbers contents, the same for the same bytes. */
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

/** Resolves names, once for each set of operations on them that is there. */
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
        // A second name of a file tells which file it is.
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
  /** Also changes the choice: what needs an operation that is not there is not there either. */
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

/** The states that a power cut at this moment may leave, different ones only: nothing done, all done, then others. */
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
    // With everything tried that differs, random choices find nothing new.
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
