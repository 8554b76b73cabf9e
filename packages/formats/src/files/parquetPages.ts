/**
 * Checks the pages of a Parquet column against their headers. The library allocates as many values as a run claims to
 * have, which can be billions in a damaged file.
 */

/** The properties of a column that the check needs. */
export interface ColumnShape {
  readonly values: number
  readonly isCompressed: boolean
  readonly maxRepetition: number
  readonly maxDefinition: number
}

/** Like `snappyUncompress`: fills `output`, or throws. */
export type Decompress = (input: Uint8Array, output: Uint8Array) => void

type Field = number | Fields
interface Fields extends ReadonlyMap<number, Field> {}

const PAGE = { data: 0, dictionary: 2, dataV2: 3 }
const ENCODING = { plainDictionary: 2, rle: 3, dictionary: 8 }
/** Snappy copies at most 64 bytes for 3, so the output is at most 32 times the input. */
const MOST_RATIO = 32

const demand = (holds: boolean): void => {
  if (!holds) throw new Error("the page contradicts its header")
}

/** Reads page headers in Thrift's compact protocol, and runs of levels and indexes. Throws at the end of the input. */
class Reader {
  readonly #view: DataView
  at = 0

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  byte(): number {
    return this.#view.getUint8(this.at++)
  }

  uint32(): number {
    this.at += 4
    return this.#view.getUint32(this.at - 4, true)
  }

  varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      demand(Number.isSafeInteger(value))
      if (byte < 0x80) return value
    }
  }

  #zigzag(): number {
    const value = this.varint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  struct(): Fields {
    const fields = new Map<number, Field>()
    for (let id = 0; ;) {
      const head = this.byte()
      if ((head & 15) === 0) return fields
      id = head < 16 ? this.#zigzag() : id + (head >> 4)
      fields.set(id, this.#field(head & 15))
    }
  }

  #field(type: number): Field {
    switch (type) {
      case 1:
      case 2:
        return type === 1 ? 1 : 0
      case 3:
        return this.byte()
      case 4:
      case 5:
      case 6:
        return this.#zigzag()
      case 8:
        this.at += this.varint()
        return 0
      case 12:
        return this.struct()
      default:
        throw new Error("not a field of a page header")
    }
  }

  /** Skips runs of values of `width` bits, at most `count` values, up to byte `end`. */
  runs(width: number, count: number, end: number): void {
    const bytes = Math.ceil(width / 8)
    for (let seen = 0; seen < count && this.at < end;) {
      const head = this.varint()
      const isPacked = head % 2 === 1
      const values = Math.floor(head / 2) * (isPacked ? 8 : 1)
      demand(values <= count - seen + (isPacked ? 7 : 0))
      this.at += isPacked ? (values / 8) * width : bytes
      seen += values
    }
    this.at = end
  }
}

const bits = (most: number): number => 32 - Math.clz32(most)

const numberOf = (fields: Fields, id: number, otherwise = 0): number => {
  const value = fields.get(id)
  return typeof value === "number" ? value : otherwise
}

/** Throws if a page contradicts its header. */
export const check = (column: Uint8Array, shape: ColumnShape, decompress: Decompress): void => {
  const reader = new Reader(column)
  let values = 0
  // Like the library, which ignores the last byte.
  while (reader.at < column.length - 1) {
    const header = reader.struct()
    const size = numberOf(header, 3)
    demand(size >= 0 && reader.at + size <= column.length)
    const body = column.subarray(reader.at, reader.at + size)
    reader.at += size
    values += pageOf(header, body, shape, decompress)
  }
  demand(values === shape.values)
}

/** Returns the number of values in a page. */
const pageOf = (header: Fields, body: Uint8Array, shape: ColumnShape, decompress: Decompress): number => {
  const type = numberOf(header, 1)
  const details = header.get(type === PAGE.data ? 5 : type === PAGE.dictionary ? 7 : 8)
  if (details === undefined || typeof details === "number") throw new Error("a page without a header")
  const values = numberOf(details, 1)
  const isV2 = type === PAGE.dataV2
  const repetition = isV2 ? numberOf(details, 6) : 0
  const definition = isV2 ? numberOf(details, 5) : 0
  const levels = repetition + definition
  demand(values >= 0 && values <= shape.values && repetition >= 0 && definition >= 0 && levels <= body.length)
  const isCompressed = shape.isCompressed && (!isV2 || numberOf(details, 7, 1) === 1)
  const rest = body.subarray(levels)
  const page = isCompressed ? inflated(rest, numberOf(header, 2) - levels, decompress) : rest
  if (type === PAGE.dictionary) return 0
  const { maxDefinition, maxRepetition } = shape
  const reader = new Reader(page)
  if (isV2) {
    if (maxRepetition > 0) new Reader(body.subarray(0, repetition)).runs(bits(maxRepetition), values, repetition)
    if (maxDefinition > 0) new Reader(body.subarray(repetition, levels)).runs(bits(maxDefinition), values, definition)
  } else {
    for (const most of [maxRepetition, maxDefinition]) {
      if (most > 0) reader.runs(bits(most), values, reader.uint32() + reader.at)
    }
  }
  const encoding = numberOf(details, isV2 ? 4 : 2)
  if (encoding === ENCODING.rle) reader.runs(1, values, reader.uint32() + reader.at)
  else if (encoding === ENCODING.dictionary || encoding === ENCODING.plainDictionary) {
    if (page.length > 0) reader.runs(reader.byte(), values, page.length)
  }
  return values
}

const inflated = (bytes: Uint8Array, size: number, decompress: Decompress): Uint8Array => {
  demand(size >= 0 && size <= bytes.length * MOST_RATIO)
  const output = new Uint8Array(size)
  decompress(bytes, output)
  return output
}
