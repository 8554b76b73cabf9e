/**
 * Values that are known to be secret: from the environment, from files and from the user. They are found verbatim and in
 * encoded forms: escaped for JSON (once or twice), URLs, HTML and shells, and in base64 at any offset.
 */
import { Buffer } from "node:buffer"
import { isWhollyPlaceholder } from "./internal/secretShape.ts"

export interface ExactSecret {
  readonly value: string
  /** The value and its encoded forms. */
  readonly forms: ReadonlyArray<string>
}

/** Why a value is not used: replacing it would remove text that is not secret. */
export type Refusal =
  /** Fewer than `MIN_LENGTH` characters, or fewer than `MIN_GIVEN_LENGTH` if the user gave the value. */
  | "too_short"
  /** `true`, a number, a path, a URL without a password, a word in one case, or only a placeholder like `<token>`. */
  | "common"

export interface ExactSecrets {
  readonly secrets: ReadonlyArray<ExactSecret>
  /** `name` is a variable, or a place in a file; never a value. */
  readonly refused: ReadonlyArray<{ readonly name: string; readonly reason: Refusal }>
}

/** In UTF-16 units. */
export const MIN_LENGTH = 8
/** For values that the user gives on purpose. */
export const MIN_GIVEN_LENGTH = 4

/** Names of variables whose values are secrets. */
const SECRET_NAME =
  /(?:^|_)(?:(?:API|ACCESS|SECRET|PRIVATE)?KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|PAT|DSN|WEBHOOK|CONNECTION_STRING|(?:DATABASE|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|AMQP)_UR[IL])(?:_[A-Z\d]{1,12})?$|_AUTH$/iu
/** Keys of JSON files, such as Pi's `auth.json`. */
const SECRET_KEY =
  /^(?:key|access|refresh|token|secret|password|passwd|pass|auth|apikey|accesstoken|refreshtoken|idtoken|clientsecret|privatekey)$|(?:[_-]|api|access|secret|private)(?:key|token|secret|password)$/iu
const NO_SECRET = /(?:PUBLIC|_PATH|_FILE|_DIR|_SOCK|_ID|_NAME|_TYPE|_HOST|_PORT|_TTL|_EXPIRY|_EXPIRES(?:_AT|_IN)?)$/iu

const COMMON = /^(?:true|false|yes|no|on|off|null|none|[-+.\d]+|[a-z]+|[A-Z]+)$/u
const PATH_OR_URL = /^(?:[~./]|[A-Za-z]:[\\/]|[a-z][a-z\d+.-]*:\/\/(?![^/@\s]*:[^/@\s]*@))/u

const refusal = (value: string): Refusal | undefined => {
  if (value.length < MIN_LENGTH) return "too_short"
  return COMMON.test(value) || PATH_OR_URL.test(value) || isWhollyPlaceholder(value) ? "common" : undefined
}

const collect = (
  values: Iterable<readonly [name: string, value: string]>,
  refused: (value: string) => Refusal | undefined
): ExactSecrets => {
  const secrets = new Map<string, ExactSecret>()
  const refusals: Array<ExactSecrets["refused"][number]> = []
  for (const [name, untrimmed] of values) {
    const value = untrimmed.trim()
    if (value === "") continue
    const reason = refused(value)
    if (reason === undefined) secrets.set(value, { value, forms: formsOf(value) })
    else refusals.push({ name, reason })
  }
  return { secrets: [...secrets.values()], refused: refusals }
}

/** The values of variables with names of secrets, such as `OPENAI_API_KEY`. */
export const fromEnvironment = (environment: { readonly [name: string]: string | undefined }): ExactSecrets =>
  collect(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && isSecretName(name) ? [[name, value] as const] : []
    ),
    refusal
  )

/** Values that the user gives; only their length is checked. */
export const fromValues = (values: ReadonlyArray<string>): ExactSecrets =>
  collect(
    values.map((value, index) => [`value ${index + 1}`, value] as const),
    (value) => (value.length < MIN_GIVEN_LENGTH ? "too_short" : undefined)
  )

/** Whether a file is meant to be JSON, by its name or first character. Lines of `NAME=value` never begin like that. */
export const isJson = (path: string, content: string): boolean => /\.json$/iu.test(path) || /^\s*[{[]/u.test(content)

/**
 * The secrets in a file. JSON: the strings under keys such as `key` and `token`. Lines of `NAME=value`: the values with
 * names of secrets. Other files: each line. Invalid JSON is read as lines, so callers reject it first (`isJson`).
 */
export const fromFile = (path: string, content: string): ExactSecrets => {
  const json = parsed(content)
  if (json !== undefined) return collect(jsonValues(json, path), refusal)
  const variables = envValues(content)
  if (variables.length > 0) return fromEnvironment(Object.fromEntries(variables))
  return collect(
    content.split(/\r?\n/u).map((line, index) => [`${path}:${index + 1}`, line] as const),
    refusal
  )
}

/** Combines several sets; each value is in the result once. */
export const all = (parts: ReadonlyArray<ExactSecrets>): ExactSecrets => ({
  secrets: [
    ...new Map(parts.flatMap(({ secrets }) => secrets.map((secret) => [secret.value, secret] as const))).values()
  ],
  refused: parts.flatMap(({ refused }) => refused)
})

const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && !NO_SECRET.test(name)

const parsed = (content: string): unknown => {
  try {
    const value: unknown = JSON.parse(content)
    return typeof value === "object" && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Uses a list instead of recursion, because values may be nested deeper than the stack. */
function* jsonValues(whole: unknown, path: string): Generator<readonly [name: string, value: string]> {
  const left: Array<{ readonly value: unknown; readonly at: string }> = [{ value: whole, at: path }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { at, value } = next
    if (typeof value !== "object" || value === null) continue
    const inside: typeof left = []
    for (const [key, member] of Object.entries(value)) {
      if (typeof member !== "string") inside.push({ value: member, at: `${at}: ${key}` })
      else if (SECRET_KEY.test(key) || isSecretName(key)) yield [`${at}: ${key}`, member]
    }
    left.push(...inside.reverse())
  }
}

const VARIABLE =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|([^\r\n]*))/gmu

const envValues = (content: string): ReadonlyArray<readonly [name: string, value: string]> =>
  [...content.matchAll(VARIABLE)].map(([, name = "", double, single, plain = ""]) => [
    name,
    double?.replaceAll(/\\([nrt"\\$])/gu, (_, escape: string) => ESCAPES[escape] ?? escape) ??
      single ??
      plain.replace(/(?<!\s)\s+#.*$/u, "")
  ])

const ESCAPES: { readonly [escape: string]: string } = { n: "\n", r: "\r", t: "\t" }

/** Each line of a multi-line value is a secret of its own from this length on. */
const MIN_LINE = 20

const formsOf = (value: string): ReadonlyArray<string> => {
  const lines = value.includes("\n") ? value.split(/\r?\n/u).filter((line) => line.length >= MIN_LINE) : []
  const forms = new Set<string>()
  for (const plain of [value, ...lines.filter((line) => !line.startsWith("-----"))]) {
    const json = JSON.stringify(plain).slice(1, -1)
    const url = encodeURIComponent(plain.toWellFormed())
    const html = plain
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
    const found = [
      plain,
      json,
      JSON.stringify(json).slice(1, -1),
      json.replaceAll("/", "\\/"),
      json.replaceAll(/[<>&]/gu, (character) => `\\u00${character.charCodeAt(0).toString(16)}`),
      url,
      url.replaceAll(/[!'()*]/gu, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`),
      url.replaceAll("%20", "+"),
      url.replaceAll(/%[\dA-F]{2}/gu, (escape) => escape.toLowerCase()),
      encodeURI(plain.toWellFormed()),
      html,
      html.replaceAll("'", "&#39;"),
      plain.replaceAll("'", "'\\''"),
      ...base64(plain)
    ]
    for (const form of found) forms.add(form)
  }
  return [...forms]
}

/** Shorter pieces of base64 occur in other texts by chance. */
const MIN_BASE64 = 8

/** The value in base64 for each of the three offsets in a group of bytes, without characters that depend on other bytes. */
const base64 = (value: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(value)
  const pieces = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64url")
    const after = (before + bytes.length) % 3
    return encoded.slice(before === 0 ? 0 : before + 1, after === 0 ? undefined : -1)
  })
  const long = pieces.filter((piece) => piece.length >= MIN_BASE64)
  return [...long, ...long.map((piece) => piece.replaceAll("-", "+").replaceAll("_", "/"))]
}
