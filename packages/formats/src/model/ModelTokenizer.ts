/**
 * A model's tokenizer, and which part of a text each of its tokens is. The library gives no offsets: they are found by
 * laying the tokens' bytes along the text, and a text that the tokens do not give back is refused.
 */
import type * as Tokenizers from "@huggingface/tokenizers"

/** What `tokenizer.json` holds. */
export interface TokenizerFile {
  readonly [member: string]: unknown
}

/** A token that stands for itself in a text. */
interface AddedToken {
  readonly content: string
  readonly special: boolean
  /** White space before or behind it goes with it. */
  readonly lstrip: boolean
  readonly rstrip: boolean
}

/** A text in tokens. */
export interface Tokens {
  readonly ids: ReadonlyArray<number>
  /** UTF-8 bytes of the text up to the end of each token. */
  readonly ends: ReadonlyArray<number>
}

export class ModelTokenizer {
  readonly #tokenizer: Tokenizers.Tokenizer
  readonly #added = new Map<number, AddedToken>()
  readonly #special: RegExp | undefined
  readonly #ending: RegExp | undefined
  /** Of tokens that were seen. */
  readonly #bytes = new Map<number, Buffer | undefined>()
  readonly #isByteLevel: boolean
  readonly #normalForm: "NFC" | "NFKC" | undefined

  /** `endings` are texts that end a turn or a document, whatever the tokenizer says of them. */
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
    // The longest first, since one may begin like another.
    const source = all
      .sort((a, b) => b.length - a.length)
      .map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"))
      .join("|")
    this.#special = source === "" ? undefined : new RegExp(source, "u")
    this.#ending = source === "" ? undefined : new RegExp(`(?:${source})$`, "u")
  }

  /** The text as the tokenizer reads it: in the normal form that it wants. */
  normalized(text: string): string {
    return this.#normalForm === undefined ? text : text.normalize(this.#normalForm)
  }

  /** Whether the tokenizer would take some of the text for a token that steers the model. */
  hasControl(text: string): boolean {
    return this.#special?.test(text) ?? false
  }

  /** Whether the text ends on such a token. */
  endsInControl(text: string): boolean {
    return this.#ending?.test(text) ?? false
  }

  /** How many tokens a text is. */
  count(text: string): number {
    return text === "" ? 0 : this.#tokenizer.encode(text, { add_special_tokens: false }).ids.length
  }

  /** The text of tokens; undefined where one is not of this tokenizer. */
  decode(ids: ReadonlyArray<number>): string | undefined {
    const pieces = ids.map((id) => this.#bytesOf(id))
    return pieces.every((piece) => piece !== undefined) ? Buffer.concat(pieces).toString("utf8") : undefined
  }

  /** The text in tokens; undefined where they do not give it back. */
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
      // White space that an added token takes with it stands in no token.
      if (before?.rstrip === true || added?.lstrip === true) at = pastBlanks(bytes, at, token)
      if (startsWith(bytes, token, at)) at += token.length
      // The blank that some tokenizers put before a text.
      else if (!this.#isByteLevel && token[0] === BLANK && startsWith(bytes, token.subarray(1), at))
        at += token.length - 1
      else return undefined
      ends.push(at)
      before = added
    }
    if (before?.rstrip === true) at = pastBlanks(bytes, at, EMPTY)
    return at === bytes.length ? { ids, ends } : undefined
  }

  /** The text in tokens, none of which is on both sides of a border (UTF-16 offsets): what is told apart there is two texts to the model too. */
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

  /** What a token is in a text; undefined for numbers that are no token's. */
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

/** Behind the white space at a place, unless the token stands there as it is. */
const pastBlanks = (bytes: Buffer, at: number, token: Uint8Array): number => {
  let to = at
  while (!(token.length > 0 && startsWith(bytes, token, to)) && isBlank(bytes[to])) to++
  return to
}

const isBlank = (byte: number | undefined): boolean => byte === BLANK || (byte !== undefined && byte >= 9 && byte <= 13)

/** The UTF-8 offsets of UTF-16 offsets that ascend. */
export const byteOffsets = (text: string, offsets: ReadonlyArray<number>): ReadonlyArray<number> => {
  let at = 0
  let bytes = 0
  return offsets.map((offset) => {
    bytes += Buffer.byteLength(text.slice(at, offset))
    at = offset
    return bytes
  })
}

/** The bytes that byte-level tokens write as characters: printable ones as themselves, the others from U+0100 on. */
const BYTES: ReadonlyMap<number, number> = (() => {
  const bytes = new Map<number, number>()
  let next = 0x100
  for (let byte = 0; byte < 0x100; byte++) {
    const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
    bytes.set(isPrintable ? byte : next++, byte)
  }
  return bytes
})()
