/** Tests of values: is it random, a password, a key, or only a placeholder? */

/** Ids of entries and sessions, which are not secrets, even under names such as `token`. */
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/iu

const REFERENCE =
  /^(?:\$\w+$|\$[{(]|%\w+%$|<|\{|\[|#\{|process\.env|os\.environ|import\.meta|env[.:([]|secrets?\.|vault:|op:\/\/|arn:|file:|https?:|self\.|this\.|config\.)/iu
const PLACEHOLDER =
  /example|placeholder|redacted|changeme|change[-_]me|change[-_]this|replace[-_]?me|insert[-_]|dummy|sample|xxxx|\*\*\*|\.\.\.|…|your[-_]|[-_]your|<|1234567890|12345678|0123456|abcdefgh|abcdef0?123|abc123|foobar|deadbeef|test[-_]?(?:key|token|secret|password)|fake|mock|not[-_]?a?[-_]?real/iu
const SAME_CHARACTER = /([\s\S])\1{7}/u

const inOneCase = (words: ReadonlyArray<string>): string =>
  words.flatMap((word) => [word, word.toUpperCase(), `${word.charAt(0).toUpperCase()}${word.slice(1)}`]).join("|")

const LONG_WORDS = inOneCase([
  "example",
  "placeholder",
  "redacted",
  "changeme",
  "abcdefgh",
  "abcdef0?123",
  "deadbeef",
  "12345678",
  "01234567"
])
const SHORT_WORDS = inOneCase([
  "fake",
  "mock",
  "dummy",
  "sample",
  "foobar",
  "x{4,}",
  "abc123",
  "your",
  "insert",
  "change[-_](?:me|this)",
  "replace[-_]?me",
  "test[-_]?(?:key|token|secret|password)",
  "not[-_]?a?[-_]?real"
])

/**
 * A placeholder of a token. Random characters spell short words by chance, so it needs a long word, a short word between
 * borders and in one case, or one character eight times (except `A`, which is zeros in base64).
 */
const TOKEN_PLACEHOLDER = new RegExp(
  `${LONG_WORDS}|(?<![A-Za-z\\d])(?:${SHORT_WORDS})(?![A-Za-z\\d])|([^A])\\1{7}`,
  "u"
)

const isReference = (value: string): boolean => REFERENCE.test(value) || new Set(value).size < 4

/** Whether a value with the form of a token is a placeholder: `AKIA...EXAMPLE`, `sk-your-key`. */
export const isTokenPlaceholder = (value: string): boolean => isReference(value) || TOKEN_PLACEHOLDER.test(value)

/** Whether a value is a reference or a placeholder: `${TOKEN}`, `<your-token>`, `xxxx`. */
export const isPlaceholder = (value: string): boolean =>
  isRandom(value)
    ? isTokenPlaceholder(value)
    : isReference(value) || PLACEHOLDER.test(value) || SAME_CHARACTER.test(value)

const WHOLE_REFERENCE =
  /^(?:\$[A-Z_][A-Z\d_]*|[$#]\{[\s\S]*\}|\$\([\s\S]*\)|%\w+%|<[\s\S]*>|\{[\s\S]*\}|\[[\s\S]*\]|(?:process\.env|os\.environ|import\.meta|env[.:([]|secrets?\.|vault:|op:\/\/|arn:|file:|self\.|this\.|config\.)\S*)$/u
const PLACEHOLDER_WORDS = new Set(
  (
    "example placeholder redacted changeme change replaceme replace insert dummy sample fake mock foobar deadbeef test " +
    "your not"
  ).split(" ")
)
/** Words that occur beside placeholder words. */
const BESIDE = new Set(
  "a my me this here it the real api access auth secret private token key password value".split(" ")
)
const FILLING = /^(?:x{3,}|\*{3,}|0?1234567\d*(?:abcdef)?|abcdef(?:gh)?(?:0?123\d{0,7})?|abc123)$/u

/** Whether every part of a value is a placeholder: `your-api-key-here`. */
export const isWhollyPlaceholder = (value: string): boolean => {
  if (WHOLE_REFERENCE.test(value) || new Set(value).size < 4) return true
  const words = value.toLowerCase().split(/[-_.\s]+/u)
  const isPlaceholderWord = (word: string): boolean => PLACEHOLDER_WORDS.has(word) || FILLING.test(word)
  return (
    words.some(isPlaceholderWord) && words.every((word) => word === "" || BESIDE.has(word) || isPlaceholderWord(word))
  )
}

/** Shannon entropy of the value's characters, in bits per character. */
export const entropy = (value: string): number => {
  const counts = new Uint32Array(256)
  for (let i = 0; i < value.length; i++) counts[value.charCodeAt(i) & 255]! += 1
  let bits = 0
  for (const count of counts) if (count > 0) bits -= (count / value.length) * Math.log2(count / value.length)
  return bits
}

const classOf = (code: number): number => {
  if (code >= 48 && code <= 57) return 1
  if (code >= 65 && code <= 90) return 2
  return code >= 97 && code <= 122 ? 3 : 0
}

/**
 * The share of adjacent characters with different classes (digit, upper case, lower case), from 0 to 1. It is about a half
 * for random characters, and much less for words, names and paths.
 */
const changes = (value: string): number => {
  let changed = 0
  let pairs = 0
  for (let i = 1; i < value.length; i++) {
    const before = classOf(value.charCodeAt(i - 1))
    const after = classOf(value.charCodeAt(i))
    if (before === 0 || after === 0) continue
    pairs++
    if (before !== after) changed++
  }
  return pairs === 0 ? 0 : changed / pairs
}

const HEX = /^[\da-f]+$/iu

/** An identifier that ends with a number. */
const IDENTIFIER = /^[A-Za-z$_]+\d{0,2}$/u

/** Whether a value looks machine-generated, and is too long to guess. */
export const isRandom = (value: string): boolean => {
  if (value.length < 16 || UUID.test(value) || !/\d/u.test(value) || !/[a-z]/iu.test(value)) return false
  const bits = entropy(value)
  if (HEX.test(value)) return bits > 2.8 && changes(value) > 0.2
  // Names of several words have short pieces between dashes and dots; random values have a longer one.
  const longest = Math.max(...value.split(/[^A-Za-z\d]/u).map((piece) => piece.length))
  return bits > 3.2 && changes(value) > 0.25 && longest >= 10 && (!IDENTIFIER.test(value) || changes(value) > 0.45)
}

/** As `isRandom`, but also shorter values, for use after names such as `api_key`. */
export const isRandomOrShort = (value: string): boolean =>
  isRandom(value) ||
  (value.length >= 10 &&
    value.length < 16 &&
    /^[A-Za-z\d]*\d[A-Za-z\d]*\d[A-Za-z\d]*$/u.test(value) &&
    changes(value) > 0.35)

/** Words after `password` in code and prose that are not passwords. */
const WORDS = new Set(
  (
    "password passwd passphrase pwd secret string boolean number object true false null undefined none nil required optional " +
    "hidden prompt input field label value default empty text hash hashed encrypted reset forgot change confirm current " +
    "protected disabled enabled invalid incorrect missing wrong private public unknown authentication authorization"
  ).split(" ")
)

const kinds = (value: string): number =>
  Number(/[a-z]/u.test(value)) +
  Number(/[A-Z]/u.test(value)) +
  Number(/\d/u.test(value)) +
  Number(/[^A-Za-z\d_]/u.test(value))

/** Code: a path, a type, a call or an import. */
const CODE =
  /^0x[\da-fA-F]+$|^[./~]|^[A-Za-z]:[\\/]|[(){}[\]]|=>|::|^[a-z]+(?:[A-Z][a-z]+)+\d?$|^[A-Za-z_]+(?:\.[A-Za-z_]+)+$/u

/** Whether a value may be a password: at least two kinds of characters, with a digit or a symbol. */
export const isPassword = (value: string): boolean =>
  value.length >= 6 &&
  !WORDS.has(value.toLowerCase()) &&
  !CODE.test(value) &&
  kinds(value) >= 2 &&
  (/\d/u.test(value) || (kinds(value) >= 3 && /[^A-Za-z\d_.,:;-]/u.test(value)))

/** Whether a value has upper case, lower case, digits and symbols, as words and names do not. */
export const isStrongPassword = (value: string): boolean =>
  value.length >= 8 && !CODE.test(value) && kinds(value) === 4 && /[!#$%&*+=?@^~]/u.test(value)

/** Whether a value is neither a common word nor code; for places that contain only passwords. */
export const isAnyPassword = (value: string): boolean =>
  value.length >= 4 && !WORDS.has(value.toLowerCase()) && !CODE.test(value)

/** Whether a value is `user:password` in base64. */
export const isBasicCredentials = (value: string): boolean => {
  if (!/^[A-Za-z\d+/_-]{8,}={0,2}$/u.test(value)) return false
  const decoded = Buffer.from(value, "base64").toString("latin1")
  return /^[\x20-\x7e]+$/u.test(decoded) && /.:.{3}/u.test(decoded)
}

/** Whether a value contains base64 that is long and random enough for a key. */
export const isKeyMaterial = (value: string): boolean => {
  const [longest = ""] = value.split(/(?<!\\)\\+[nr]|[^A-Za-z\d+/=]/u).sort((a, b) => b.length - a.length)
  return longest.length >= 32 && entropy(longest) > 3.5 && changes(longest) > 0.25
}

/** Whether one value of a cookie header is random. */
export const hasRandomValue = (value: string): boolean =>
  value.split(";").some((pair) => isRandom(decoded(pair.slice(pair.indexOf("=") + 1).trim())))

const decoded = (value: string): string => value.replaceAll(/%[\da-f]{2}/giu, "")
