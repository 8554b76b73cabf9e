/**
 * Searches memory for two bytes at a distance and for JSON escapes in one pass, 64 bytes at a time, in WebAssembly.
 *
 * `Buffer.indexOf` is as fast for the bytes, but not for the many escapes that could hide them; with it a search took
 * twice as long (docs/adr/008-fast-reading.md). The module is assembled here, so that there is no binary to trust.
 */

/** The bytes to find. A byte matches if it equals `first` after the bits of `firstMask` are set; likewise `second`. */
export interface BytePair {
  readonly first: number
  readonly firstMask: number
  readonly second: number
  readonly secondMask: number
  /** From the first byte to the second, 0 to `DISTANCE_MAX`. */
  readonly distance: number
  /** The byte after a backslash that makes an escape, besides `u`; `u` if there is no other. */
  readonly escape: number
}

export const DISTANCE_MAX = 64
const VECTOR = 16
/** Vectors that are tested together while none contains a match. */
const TOGETHER = 4
/** Bytes of memory that must follow the last searched byte, because vectors are loaded beyond it. */
export const PADDING = DISTANCE_MAX + VECTOR * TOGETHER + 1

const PAGE = 1 << 16
const BACKSLASH_BYTE = 0x5c
const U_BYTE = 0x75

const OP = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  if: [0x04, 0x40],
  end: [0x0b],
  return: [0x0f],
  branchOut: [0x0d, 1],
  branchBack: [0x0c, 0],
  select: [0x1b],
  lessThan: [0x49],
  atLeast: [0x4f],
  add: [0x6a],
  trailingZeros: [0x68],
  splat: [0xfd, 0x0f],
  equal: [0xfd, 0x23],
  and: [0xfd, 0x4e],
  or: [0xfd, 0x50],
  anyTrue: [0xfd, 0x53],
  bitmask: [0xfd, 0xe4, 0x00]
} as const

/** Instructions of a module, or any other part of one. */
type Code = ReadonlyArray<number>

const code = (...parts: ReadonlyArray<Code>): Code => parts.flat()

/** Numbers in a module are LEB128. */
const leb = (value: number): Code => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)])
const load = (offset: number): Code => [0xfd, 0x00, 0, ...leb(offset)]
const constant = (value: number): Code => [0x41, ...(value < 0x40 ? [value] : [value | 0x80, 0x00])]
const get = (local: number): Code => [0x20, local]
const set = (local: number): Code => [0x21, local]
const tee = (local: number): Code => [0x22, local]

const I32 = 0x7f
const V128 = 0x7b
/** The parameters of `find`. */
const [FROM, TO, SECOND_FROM, FIRST, FIRST_MASK, SECOND, SECOND_MASK, ESCAPE, BACKSLASH, U] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9
]
const PARAMETERS = 10
/** The local with a vector of a parameter's byte. */
const vectorOf = (parameter: number): number => PARAMETERS + parameter - FIRST
const [HERE, NEXT, FOUND] = [vectorOf(PARAMETERS), vectorOf(PARAMETERS + 1), vectorOf(PARAMETERS + 2)]
const VECTORS = PARAMETERS - FIRST + 3

/** Instructions that not every pair needs. */
interface Kind {
  readonly masks: boolean
  readonly otherEscape: boolean
}

/** Leaves a vector that marks the matches that begin at `FROM + offset`. */
const matches = ({ masks, otherEscape }: Kind, offset: number): Code => {
  const masked = (mask: number): Code => (masks ? code(get(vectorOf(mask)), OP.or) : [])
  return code(
    // The first byte here and the second at its distance ...
    code(get(FROM), load(offset), tee(HERE), masked(FIRST_MASK), get(vectorOf(FIRST)), OP.equal),
    code(get(SECOND_FROM), load(offset), masked(SECOND_MASK), get(vectorOf(SECOND)), OP.equal, OP.and),
    // ... or a backslash here and what makes it an escape after it.
    code(get(HERE), get(vectorOf(BACKSLASH)), OP.equal),
    code(get(FROM), load(offset + 1), tee(NEXT), get(vectorOf(U)), OP.equal),
    otherEscape ? code(get(NEXT), get(vectorOf(ESCAPE)), OP.equal, OP.or) : [],
    code(OP.and, OP.or)
  )
}

const forward = (bytes: number): Code =>
  code(...[FROM, SECOND_FROM].map((at) => code(get(at), constant(bytes), OP.add, set(at))))

const splatted = (parameter: number): Code => code(get(parameter), OP.splat, set(vectorOf(parameter)))

const bodyOf = (kind: Kind): Code => {
  const others = Array.from({ length: TOGETHER - 1 }, (_, index) => code(matches(kind, (index + 1) * VECTOR), OP.or))
  const outAtEnd = code(get(FROM), get(TO), OP.atLeast, OP.branchOut)
  const again = code(OP.branchBack, OP.end, OP.end)
  return code(
    ...[FIRST, FIRST_MASK, SECOND, SECOND_MASK, ESCAPE, BACKSLASH, U].map(splatted),
    // Skips four vectors at a time without a match ...
    code(OP.block, OP.loop, outAtEnd),
    code(matches(kind, 0), ...others, OP.anyTrue, OP.branchOut),
    code(forward(TOGETHER * VECTOR), again),
    // ... then finds the exact position.
    code(OP.block, OP.loop, outAtEnd),
    code(matches(kind, 0), tee(FOUND), OP.anyTrue),
    OP.if,
    code(get(FROM), get(FOUND), OP.bitmask, OP.trailingZeros, OP.add, tee(FROM)),
    code(get(TO), get(FROM), get(TO), OP.lessThan, OP.select, OP.return),
    OP.end,
    code(forward(VECTOR), again),
    code(get(TO), OP.end)
  )
}

const sized = (bytes: Code): Code => code(leb(bytes.length), bytes)
const section = (id: number, ...content: ReadonlyArray<Code>): Code => code([id], sized(code(...content)))

/** A module of one function "f" over a memory "m" "m". */
const moduleOf = (kind: Kind): Uint8Array => {
  const parameters = Array.from({ length: PARAMETERS }, () => I32)
  return Uint8Array.from(
    code(
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [1, 0x60], sized(parameters), [1, I32]),
      section(2, [1, 1, 0x6d, 1, 0x6d, 0x02, 0x00, 1]),
      section(3, [1, 0]),
      section(7, [1, 1, 0x66, 0x00, 0]),
      section(10, [1], sized(code([1, VECTORS, V128], bodyOf(kind))))
    )
  )
}

/** Node has WebAssembly, but its types do not declare it. */
declare const WebAssembly: {
  readonly Memory: new (pages: { readonly initial: number }) => WasmMemory
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly [name: string]: unknown } }
}

interface WasmMemory {
  readonly buffer: ArrayBuffer
  readonly grow: (pages: number) => number
}

type Find = (from: number, to: number, secondFrom: number, ...bytes: ReadonlyArray<number>) => number

const isFind = (value: unknown): value is Find => typeof value === "function"

/** Compiled modules by kind. */
const modules: Array<object | undefined> = []

/** Memory to read a file into, with its scanner. */
export class ScanMemory {
  readonly #memory: WasmMemory
  readonly #finds: Array<Find | undefined> = []
  #bytes: Buffer

  constructor(capacity: number) {
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil((capacity + PADDING) / PAGE) })
    this.#bytes = this.#view()
  }

  /** The usable memory. `grow` replaces the array. */
  get bytes(): Buffer {
    return this.#bytes
  }

  /** Doubles the memory and keeps its content; false if the system has no more. */
  grow(): boolean {
    try {
      this.#memory.grow(this.#memory.buffer.byteLength / PAGE)
    } catch {
      return false
    }
    this.#bytes = this.#view()
    return true
  }

  /** The first position in `from..to` where the pair or an escape begins; `to` if there is none. */
  find(pair: BytePair, from: number, to: number): number {
    const { first, firstMask, second, secondMask, distance, escape } = pair
    const find = this.#findOf({ masks: (firstMask | secondMask) !== 0, otherEscape: escape !== U_BYTE })
    return find(from, to, from + distance, first, firstMask, second, secondMask, escape, BACKSLASH_BYTE, U_BYTE)
  }

  #findOf(kind: Kind): Find {
    const number = Number(kind.masks) + 2 * Number(kind.otherEscape)
    const known = this.#finds[number]
    if (known !== undefined) return known
    const module = (modules[number] ??= new WebAssembly.Module(moduleOf(kind)))
    const find: unknown = new WebAssembly.Instance(module, { m: { m: this.#memory } }).exports["f"]
    if (!isFind(find)) throw new TypeError("the scanner's module has no function")
    this.#finds[number] = find
    return find
  }

  #view(): Buffer {
    return Buffer.from(this.#memory.buffer, 0, this.#memory.buffer.byteLength - PADDING)
  }
}
