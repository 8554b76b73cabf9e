/**
 * Two loops over bytes in WebAssembly, for speed: skipping a JSON string, and a hash. The module is assembled here from its
 * instructions, so that the package contains no binary. Bytes are copied to a window of its memory, which has a fixed size.
 */

/** An unsigned number in LEB128. */
const leb = (value: number): Code => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)])
/** A signed number in LEB128. */
const signed = (value: bigint): Code => {
  const low = Number(value & 0x7fn)
  const rest = value >> 7n
  const isLast = (rest === 0n && low < 0x40) || (rest === -1n && low >= 0x40)
  return isLast ? [low] : [low | 0x80, ...signed(rest)]
}

/** Bytes of a module. */
type Code = ReadonlyArray<number>

const code = (...parts: ReadonlyArray<Code>): Code => parts.flat()

const I32 = 0x7f
const I64 = 0x7e
const V128 = 0x7b

const get = (local: number): Code => [0x20, local]
const set = (local: number): Code => [0x21, local]
const tee = (local: number): Code => [0x22, local]
const i32 = (value: number): Code => [0x41, ...signed(BigInt(value))]
const i64 = (value: bigint): Code => [0x42, ...signed(BigInt.asIntN(64, value))]
const byteAt = (offset: number): Code => [0x2d, 0, ...leb(offset)]
const twoBytesAt = (offset: number): Code => [0x2f, 0, ...leb(offset)]
const longAt = (offset: number): Code => [0x29, 0, ...leb(offset)]
const storeLong = (offset: number): Code => [0x37, 0, ...leb(offset)]
const vectorAt = (offset: number): Code => [0xfd, 0x00, 0, ...leb(offset)]
const branch = (depth: number): Code => [0x0c, depth]

const BLOCK = [0x02, 0x40]
const IF = [0x04, 0x40]
const LOOP = [0x03, 0x40]
const END = [0x0b]
const RETURN = [0x0f]
const UNREACHABLE = [0x00]
const SPLAT = [0xfd, 0x0f]
const BYTES_EQUAL = [0xfd, 0x23]
const BYTES_LESS = [0xfd, 0x26]
const VECTOR_OR = [0xfd, 0x50]
const BITMASK = [0xfd, 0x64]
const I32_ZERO = [0x45]
const I32_EQUAL = [0x46]
const I32_UNEQUAL = [0x47]
const I32_ABOVE = [0x4b]
const I32_AT_LEAST = [0x4f]
const I32_TRAILING_ZEROS = [0x68]
const I32_ADD = [0x6a]
const I32_AND = [0x71]
const I32_OR = [0x72]
const I32_SHIFT = [0x74]
const I64_ZERO = [0x50]
const I64_TRAILING_ZEROS = [0x7a]
const I64_AND = [0x83]
const I64_OR = [0x84]
const I64_SHIFT = [0x86]
const I64_WRAP = [0xa7]
const I64_EXTEND = [0xad]
const I64_ADD = [0x7c]
const I64_TIMES = [0x7e]
const I64_XOR = [0x85]
const I64_ROTATE = [0x89]

const VECTOR = 16
/** Vectors for each step of the fast loop. */
const TOGETHER = 4

/** Table of the bytes after a backslash. */
const ESCAPES_AT = 0
const ESCAPE_SHORT = 1
/** `\/`, which `JSON.stringify` does not write. */
const ESCAPE_NEEDLESS = 2
const ESCAPE_UNICODE = 3
/** Table of the digits of `\u`. */
const DIGITS_AT = 256
const DIGIT = 1
/** The digit is one that `JSON.stringify` writes after `\u001`, or after `\u000` (control characters without short escapes). */
const DIGIT_AFTER_ONE = 2
const DIGIT_AFTER_ZERO = 4
/** The two 64-bit lanes of a hash. */
const LANES_AT = 512
const WINDOW_AT = 1024
/** Bytes copied at a time. */
export const WINDOW_BYTES = (1 << 16) - WINDOW_AT - VECTOR

const tables = (): Uint8Array => {
  const bytes = new Uint8Array(WINDOW_AT)
  for (const char of '"\\bfnrt') bytes[ESCAPES_AT + char.charCodeAt(0)] = ESCAPE_SHORT
  bytes[ESCAPES_AT + "/".charCodeAt(0)] = ESCAPE_NEEDLESS
  bytes[ESCAPES_AT + "u".charCodeAt(0)] = ESCAPE_UNICODE
  for (const char of "ABCDEF") bytes[DIGITS_AT + char.charCodeAt(0)] = DIGIT
  for (const char of "89acd") bytes[DIGITS_AT + char.charCodeAt(0)] = DIGIT | DIGIT_AFTER_ONE
  for (const char of "01234567bef") {
    bytes[DIGITS_AT + char.charCodeAt(0)] = DIGIT | DIGIT_AFTER_ONE | DIGIT_AFTER_ZERO
  }
  return bytes
}

/** Flags in the lowest bits of the result of `skip`; the other bits are the place. */
export const AT_QUOTE = 1
export const AT_FAULT = 2
/** An escape was found that `JSON.stringify` writes differently. */
export const REWRITTEN = 4
const PLACE_SHIFT = 3

/** `skip(from, to)`: goes from inside a string to its end quote, to an invalid byte, or to the end of the window. */
const skipBody = (): Code => {
  const [FROM, TO, FLAGS, MASK, BYTE, PLACE] = [0, 1, 2, 3, 4, 5]
  const MARKS = 6
  const [HERE, QUOTE, BACKSLASH, SPACE] = [7, 8, 9, 10]
  const answer = (flag: number): Code =>
    code(get(FROM), i32(PLACE_SHIFT), I32_SHIFT, get(FLAGS), I32_OR, i32(flag), I32_OR, RETURN)
  const when = (condition: Code, ...then: ReadonlyArray<Code>): Code => code(condition, IF, ...then, END)
  const forward = (bytes: number): Code => code(get(FROM), i32(bytes), I32_ADD, set(FROM))
  const toPlace = code(get(FROM), get(PLACE), I32_ADD, set(FROM))
  const is = (local: number, value: number): Code => code(get(local), i32(value), I32_EQUAL)
  const rewritten = code(get(FLAGS), i32(REWRITTEN), I32_OR, set(FLAGS))
  const digit = (offset: number): Code => code(get(FROM), byteAt(offset), byteAt(DIGITS_AT))
  const isAfter = (first: string, mark: number): Code =>
    code(
      code(get(FROM), byteAt(4), i32(first.charCodeAt(0)), I32_EQUAL),
      code(digit(5), i32(mark), I32_AND, i32(0), I32_ABOVE, I32_AND)
    )
  const splat = (byte: number, local: number): Code => code(i32(byte), SPLAT, set(local))
  /** One bit for each byte of a vector: whether it is a quote, a backslash or a control byte. */
  const marksAt = (offset: number): Code =>
    code(
      code(get(FROM), vectorAt(offset), tee(HERE), get(QUOTE), BYTES_EQUAL),
      code(get(HERE), get(BACKSLASH), BYTES_EQUAL, VECTOR_OR),
      code(get(HERE), get(SPACE), BYTES_LESS, VECTOR_OR, BITMASK)
    )
  const [first, ...others] = Array.from({ length: TOGETHER }, (_, at) =>
    code(marksAt(at * VECTOR), I64_EXTEND, i64(BigInt(at * VECTOR)), I64_SHIFT)
  )
  const last = TOGETHER * VECTOR - 1
  /** The fast loop: skips plain bytes and short escapes, several vectors at a time. */
  const usual = code(
    code(BLOCK, LOOP),
    when(code(get(FROM), i32(last + 1), I32_ADD, get(TO), I32_ABOVE), branch(2)),
    code(first ?? [], ...others.map((marks) => code(marks, I64_OR)), set(MARKS)),
    LOOP,
    when(code(get(MARKS), I64_ZERO), forward(last + 1), branch(2)),
    code(get(MARKS), I64_TRAILING_ZEROS, I64_WRAP, set(PLACE)),
    code(get(FROM), get(PLACE), I32_ADD, tee(MASK), byteAt(0), i32(0x5c), I32_UNEQUAL),
    code(get(MASK), byteAt(1), byteAt(ESCAPES_AT), i32(ESCAPE_SHORT), I32_UNEQUAL, I32_OR),
    when([], toPlace, branch(3)),
    // Clears the marks of the backslash and of the escaped byte, which may be in the next vectors.
    when(is(PLACE, last), forward(last + 2), branch(2)),
    code(get(MARKS), i64(3n), get(PLACE), I64_EXTEND, I64_SHIFT, i64(-1n), I64_XOR, I64_AND, set(MARKS)),
    code(branch(0), END, END, END)
  )
  return code(
    [3, 4, I32, 1, I64, 4, V128],
    code(splat(0x22, QUOTE), splat(0x5c, BACKSLASH), splat(0x20, SPACE)),
    LOOP,
    usual,
    when(code(get(FROM), get(TO), I32_AT_LEAST), code(get(TO), set(FROM)), answer(0)),
    code(marksAt(0), set(MASK)),
    when(code(get(MASK), I32_ZERO), forward(VECTOR), branch(1)),
    code(get(FROM), get(MASK), I32_TRAILING_ZEROS, I32_ADD, set(FROM)),
    when(code(get(FROM), get(TO), I32_AT_LEAST), code(get(TO), set(FROM)), answer(0)),
    code(get(FROM), byteAt(0), set(BYTE)),
    when(is(BYTE, 0x22), answer(AT_QUOTE)),
    when(code(get(BYTE), i32(0x5c), I32_UNEQUAL), answer(AT_FAULT)),
    // The longest escape has 6 bytes.
    when(code(get(FROM), i32(6), I32_ADD, get(TO), I32_ABOVE), answer(0)),
    code(get(FROM), byteAt(1), byteAt(ESCAPES_AT), set(BYTE)),
    when(is(BYTE, ESCAPE_SHORT), forward(2), branch(1)),
    when(is(BYTE, ESCAPE_NEEDLESS), rewritten, forward(2), branch(1)),
    when(code(get(BYTE), I32_ZERO), answer(AT_FAULT)),
    code(digit(2), digit(3), I32_AND, digit(4), I32_AND, digit(5), I32_AND, i32(DIGIT), I32_AND, set(BYTE)),
    when(code(get(BYTE), I32_ZERO), answer(AT_FAULT)),
    code(get(FROM), twoBytesAt(2), i32(0x3030), I32_EQUAL),
    code(isAfter("0", DIGIT_AFTER_ZERO), isAfter("1", DIGIT_AFTER_ONE), I32_OR, I32_AND, set(BYTE)),
    when(code(get(BYTE), I32_ZERO), rewritten),
    code(forward(6), branch(0), END),
    code(UNREACHABLE, END)
  )
}

/** `hash(from, to)`: mixes each pair of 64-bit words into both lanes. */
const hashBody = (): Code => {
  const [FROM, TO, A, B] = [0, 1, 2, 3]
  const word = (offset: number): Code => code(get(FROM), longAt(offset))
  const times = (factor: bigint, turn: bigint): Code => code(i64(factor), I64_TIMES, i64(turn), I64_ROTATE)
  return code(
    [1, 2, I64],
    code(i32(LANES_AT), longAt(0), set(A), i32(LANES_AT), longAt(8), set(B)),
    LOOP,
    code(get(FROM), get(TO), I32_AT_LEAST, I32_ZERO, IF),
    code(get(A), word(0), I64_XOR, times(0x9e3779b97f4a7c15n, 31n), word(8), I64_XOR, set(A)),
    code(get(B), word(8), I64_ADD, times(0xc2b2ae3d27d4eb4fn, 27n), word(0), I64_XOR, set(B)),
    code(get(FROM), i32(VECTOR), I32_ADD, set(FROM), branch(1), END, END),
    code(i32(LANES_AT), get(A), storeLong(0), i32(LANES_AT), get(B), storeLong(8)),
    code(i32(0), END)
  )
}

const sized = (bytes: Code): Code => code(leb(bytes.length), bytes)
const section = (id: number, ...content: ReadonlyArray<Code>): Code => code([id], sized(code(...content)))

const moduleBytes = (): Uint8Array =>
  Uint8Array.from(
    code(
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [1, 0x60, 2, I32, I32, 1, I32]),
      // Imports a memory of one page, "m" "m".
      section(2, [1, 1, 0x6d, 1, 0x6d, 0x02, 0x00, 1]),
      section(3, [2, 0, 0]),
      section(7, [2, 1, 0x73, 0x00, 0, 1, 0x68, 0x00, 1]),
      section(10, [2], sized(skipBody()), sized(hashBody()))
    )
  )

/** Missing in Node's types. */
declare const WebAssembly: {
  readonly Memory: new (pages: { readonly initial: number }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly [name: string]: unknown } }
}

type Loop = (from: number, to: number) => number

const isLoop = (value: unknown): value is Loop => typeof value === "function"

class ByteModule {
  readonly #window: Uint8Array
  readonly #lanes: Int32Array
  readonly #skip: Loop
  readonly #hash: Loop
  /** The array and the range of the bytes in the window. */
  #held: Uint8Array | undefined
  #from = 0
  #to = 0

  constructor() {
    const memory = new WebAssembly.Memory({ initial: 1 })
    const { s, h } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()), { m: { m: memory } }).exports
    if (!isLoop(s) || !isLoop(h)) throw new TypeError("the WebAssembly module does not export its functions")
    this.#skip = s
    this.#hash = h
    new Uint8Array(memory.buffer).set(tables())
    this.#window = new Uint8Array(memory.buffer, WINDOW_AT, WINDOW_BYTES)
    this.#lanes = new Int32Array(memory.buffer, LANES_AT, 4)
  }

  /** Invalidates the window: the caller may have changed the bytes. */
  forget(): void {
    this.#held = undefined
  }

  /**
   * Goes from `at` inside a string to its end quote. Returns flags and sets `skippedTo`. Without `AT_QUOTE` and `AT_FAULT`
   * it stopped near `end`, and the caller reads the rest.
   */
  skip(bytes: Uint8Array, at: number, end: number): number {
    let flags = 0
    let from = at
    for (;;) {
      if (this.#held !== bytes || from < this.#from || from >= this.#to) this.#load(bytes, from, end)
      const base = this.#from - WINDOW_AT
      const found = this.#skip(from - base, this.#to - base)
      const place = (found >> PLACE_SHIFT) + base
      flags |= found & ((1 << PLACE_SHIFT) - 1)
      if ((flags & (AT_QUOTE | AT_FAULT)) !== 0 || this.#to === end) {
        this.skippedTo = place
        return flags
      }
      // An escape crosses the end of the window: copy again from there.
      if (place < this.#to) this.#held = undefined
      from = place
    }
  }

  /** Offset where the last `skip` stopped. */
  skippedTo = 0

  #load(bytes: Uint8Array, from: number, end: number): void {
    const to = Math.min(end, from + WINDOW_BYTES)
    this.#window.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to))
    this.#held = bytes
    this.#from = from
    this.#to = to
  }

  /** Hashes `bytes[start, end)`; sets `low` and `high`. */
  hash(bytes: Uint8Array, start: number, end: number): void {
    this.#held = undefined
    const lanes = this.#lanes
    lanes[0] = 0x243f6a88
    lanes[1] = 0x85a308d3
    lanes[2] = 0x13198a2e
    lanes[3] = end - start
    for (let from = start; from < end; from += WHOLE_BYTES) {
      const to = Math.min(end, from + WHOLE_BYTES)
      const length = to - from
      this.#window.set(bytes.subarray(from, to))
      const padded = (length + VECTOR - 1) & -VECTOR
      if (padded > length) this.#window.fill(0, length, padded)
      this.#hash(WINDOW_AT, WINDOW_AT + padded)
    }
    const [a = 0, b = 0, c = 0, d = 0] = lanes
    this.low = mix(a ^ mix(b ^ mix(c ^ mix(d))))
    this.high = mix(d ^ mix(c ^ mix(b ^ mix(a + 0x27d4eb2f))))
  }

  low = 0
  high = 0
}

/** Bytes hashed at a time: a multiple of the vector. */
const WHOLE_BYTES = WINDOW_BYTES & -VECTOR

const mix = (value: number): number => {
  let h = value ^ (value >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

let made: ByteModule | undefined

/** The module of this thread, compiled at the first call. */
export const byteModule = (): ByteModule => (made ??= new ByteModule())
export type { ByteModule }
