/**
 * A model's tokenizer, with the text range of each token. The library returns no offsets, so they are found by aligning
 * the tokens' bytes with the text. A text that the tokens do not reproduce is refused.
 */
import type * as Tokenizers from "@huggingface/tokenizers"

/** The contents of `tokenizer.json`. */
export interface TokenizerFile {
  readonly [member: string]: unknown
}

/** A token that is matched literally in a text. */
interface AddedToken {
  readonly content: string
  readonly special: boolean
  /** Whether it includes the white space before or after it. */
  readonly lstrip: boolean
  readonly rstrip: boolean
}

/** A tokenized text. */
export interface Tokens {
  readonly ids: ReadonlyArray<number>
  /** Offset in UTF-8 bytes of the end of each token. */
  readonly ends: ReadonlyArray<number>
}

export class ModelTokenizer {
  readonly #tokenizer: Tokenizers.Tokenizer
  readonly #added = new Map<number, AddedToken>()
  readonly #special: RegExp | undefined
  readonly #ending: RegExp | undefined
  /** Cache of token bytes, by id. */
  readonly #bytes = new Map<number, Buffer | undefined>()
  readonly #isByteLevel: boolean
  readonly #normalForm: "NFC" | "NFKC" | undefined

  /** `endings`: texts that end a turn or a document, additional to the tokenizer's control tokens. */
  constructor(tokenizer: Tokenizers.Tokenizer, file: TokenizerFile, endings: ReadonlyArray<string>) {
    this.#tokenizer = tokenizer
    this.#isByteLevel = JSON.stringify(file["decoder"] ?? null).includes('"ByteLevel"')
    const [, form] = /"type":"(NFK?C)"/u.exec(JSON.stringify(file["normalizer"] ?? null)) ?? []
    this.#normalForm = form === "NFC" || form === "NFKC" ? form : undefined
    for (const [id, { content, lstrip, rstrip, special }] of tokenizer.get_added_tokens_decoder()) {
      this.#added.set(id, { content, special, lstrip, rstrip })
    }
    const special = [...this.#added.values()].flatMap(({ content, special }) => (special ? [content] : []))
    const all = [...new Set([...special, ...endings])].filter((text) => text !== "")
    // Longest first, since one can be a prefix of another.
    const source = all
      .sort((a, b) => b.length - a.length)
      .map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"))
      .join("|")
    this.#special = source === "" ? undefined : new RegExp(source, "u")
    this.#ending = source === "" ? undefined : new RegExp(`(?:${source})$`, "u")
  }

  /** The text in the tokenizer's normal form. */
  normalized(text: string): string {
    return this.#normalForm === undefined ? text : text.normalize(this.#normalForm)
  }

  /** Whether the tokenizer would read a part of the text as a control token. */
  hasControl(text: string): boolean {
    return this.#special?.test(text) ?? false
  }

  /** Whether the text ends with a control token. */
  endsInControl(text: string): boolean {
    return this.#ending?.test(text) ?? false
  }

  /** Number of tokens of a text. */
  count(text: string): number {
    return text === "" ? 0 : this.#tokenizer.encode(text, { add_special_tokens: false }).ids.length
  }

  /** The text of token ids; undefined if one is unknown to this tokenizer. */
  decode(ids: ReadonlyArray<number>): string | undefined {
    const pieces = ids.map((id) => this.#bytesOf(id))
    return pieces.every((piece) => piece !== undefined) ? Buffer.concat(pieces).toString("utf8") : undefined
  }

  /** The tokens of a text; undefined if they do not decode to it. */
  encode(text: string): Tokens | undefined {
    if (text === "") return { ids: [], ends: [] }
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: false })
    const bytes = Buffer.from(text)
    const ends: Array<number> = []
    let at = 0
    let before: AddedToken | undefined
    for (const id of ids) {
      const token = this.#bytesOf(id)
      const added = this.#added.get(id)
      if (token === undefined) return undefined
      // White space included in an added token is part of no other token.
      if (before?.rstrip === true || added?.lstrip === true) at = pastBlanks(bytes, at, token)
      if (startsWith(bytes, token, at)) at += token.length
      // Some tokenizers insert a space before a text.
      else if (!this.#isByteLevel && token[0] === BLANK && startsWith(bytes, token.subarray(1), at))
        at += token.length - 1
      else return undefined
      ends.push(at)
      before = added
    }
    if (before?.rstrip === true) at = pastBlanks(bytes, at, EMPTY)
    return at === bytes.length ? { ids, ends } : undefined
  }

  /** The tokens of a text, none of which crosses a border (UTF-16 offset): the parts are tokenized separately. */
  encodeWithin(text: string, borders: ReadonlyArray<number>): Tokens | undefined {
    const whole = this.encode(text)
    if (whole === undefined) return undefined
    const ends = new Set(whole.ends)
    const offsets = byteOffsets(text, borders)
    const across = borders.filter((_, i) => offsets[i] !== 0 && !ends.has(offsets[i] ?? 0))
    if (across.length === 0) return whole
    const joined = { ids: new Array<number>(), ends: new Array<number>() }
    let start = 0
    for (const border of [...across, text.length]) {
      const part = this.encode(text.slice(start, border))
      if (part === undefined) return undefined
      const before = joined.ends.at(-1) ?? 0
      joined.ids.push(...part.ids)
      joined.ends.push(...part.ends.map((end) => before + end))
      start = border
    }
    return joined
  }

  /** The bytes of a token; undefined for an unknown id. */
  #bytesOf(id: number): Buffer | undefined {
    if (!this.#bytes.has(id)) this.#bytes.set(id, this.#writtenOut(id))
    return this.#bytes.get(id)
  }

  #writtenOut(id: number): Buffer | undefined {
    const added = this.#added.get(id)
    if (added !== undefined) return Buffer.from(added.content)
    const token = this.#tokenizer.id_to_token(id)
    if (token === undefined) return undefined
    if (this.#isByteLevel) {
      const bytes = Buffer.alloc(token.length)
      for (let i = 0; i < token.length; i++) {
        const byte = BYTES.get(token.charCodeAt(i))
        if (byte === undefined) return undefined
        bytes[i] = byte
      }
      return bytes
    }
    const [, hex] = /^<0x([0-9A-F]{2})>$/u.exec(token) ?? []
    return hex === undefined ? Buffer.from(token.replaceAll("\u2581", " ")) : Buffer.from(hex, "hex")
  }
}

const BLANK = 0x20
const EMPTY = Buffer.alloc(0)

const startsWith = (bytes: Buffer, token: Uint8Array, at: number): boolean =>
  bytes.length - at >= token.length && bytes.compare(token, 0, token.length, at, at + token.length) === 0

/** The offset after the white space at `at`, unless the token begins with that white space. */
const pastBlanks = (bytes: Buffer, at: number, token: Uint8Array): number => {
  let to = at
  while (!(token.length > 0 && startsWith(bytes, token, to)) && isBlank(bytes[to])) to++
  return to
}

const isBlank = (byte: number | undefined): boolean => byte === BLANK || (byte !== undefined && byte >= 9 && byte <= 13)

/** The UTF-8 offsets of ascending UTF-16 offsets. */
export const byteOffsets = (text: string, offsets: ReadonlyArray<number>): ReadonlyArray<number> => {
  let at = 0
  let bytes = 0
  return offsets.map((offset) => {
    bytes += Buffer.byteLength(text.slice(at, offset))
    at = offset
    return bytes
  })
}

/** Byte-level encoding: printable bytes are their own characters, others begin at U+0100. */
const BYTES: ReadonlyMap<number, number> = (() => {
  const bytes = new Map<number, number>()
  let next = 0x100
  for (let byte = 0; byte < 0x100; byte++) {
    const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
    bytes.set(isPrintable ? byte : next++, byte)
  }
  return bytes
})()
