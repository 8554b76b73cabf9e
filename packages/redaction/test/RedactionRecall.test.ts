/**
 * Recall: how many planted secrets of many kinds redaction removes. Precision: how little it finds in library source code
 * and in the sessions of PI_SESSIONS_CORPUS.
 */
import { assert, describe, it } from "@effect/vitest"
import { generateKeyPairSync } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Placeholders } from "../src/Placeholders.ts"
import { Redactor } from "../src/Redactor.ts"
import { SecretScanner } from "../src/SecretScanner.ts"
import { CONTEXT, KINDS, PLACES, PREFIXED, TOKEN_PLACES, characters } from "./support/plantedSecrets.ts"

const redactor = new Redactor({ placeholders: new Placeholders("a key of this test") })
const redacted = (text: string): string => redactor.scope([]).text(text)

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

/** The first and last 60 % of each line: verbatim, and escaped for JSON, JSON in JSON, and URLs. */
const traces = (secret: string): ReadonlyArray<string> =>
  secret.split(/\n|\\n/u).flatMap((line) => {
    const most = Math.ceil(line.length * 0.6)
    return [line.slice(0, most), line.slice(-most)].flatMap((part) => {
      const json = JSON.stringify(part).slice(1, -1)
      return [part, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(part)]
    })
  })

/** Secrets of each kind in each place. */
const ROUNDS = Dose.of("PI_SESSIONS_SECRETS", { test: 5, campaign: 20 })

interface Recall {
  readonly kind: string
  readonly gone: number
  readonly planted: number
  readonly missed: ReadonlyArray<string>
}

const recallOf = (kind: string): Recall => {
  const make = KINDS.get(kind)
  const places = { ...PLACES, ...(kind in PREFIXED ? TOKEN_PLACES : {}) }
  const missed = new Set<string>()
  let planted = 0
  let gone = 0
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const { secret, text } = make?.(SeededRandom.make(seed)) ?? { secret: "", text: "" }
    for (const [place, put] of Object.entries(places)) {
      planted++
      const result = redacted(put(text))
      if (traces(secret).every((trace) => !result.includes(trace))) gone++
      else missed.add(place)
    }
  }
  return { kind, gone, planted, missed: [...missed] }
}

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`

describe("planted secrets", () => {
  it("are removed: at least 95 % of each of at least sixty kinds", () => {
    assert.isAtLeast(KINDS.size, 60)
    const recalls = [...KINDS.keys()].map(recallOf)
    for (const { gone, kind, missed, planted } of recalls) {
      const where = missed.length === 0 ? "" : `; missed ${missed.join(", ")}`
      print(`recall ${percent(gone, planted).padStart(7)}  ${kind}${where}`)
    }
    const gone = recalls.reduce((sum, recall) => sum + recall.gone, 0)
    const planted = recalls.reduce((sum, recall) => sum + recall.planted, 0)
    print(`recall ${percent(gone, planted)} of ${planted} secrets of ${KINDS.size} kinds`)
    assert.isAtLeast(gone / planted, 0.95)
    const poor = recalls.filter((recall) => recall.gone / recall.planted < 0.95).map(({ kind }) => kind)
    assert.deepStrictEqual(poor, [])
    assert.strictEqual(Object.keys(PREFIXED).length + Object.keys(CONTEXT).length, KINDS.size)
  })
})

const PRIVATE = { format: "pem" } as const
const PUBLIC = { format: "pem", type: "spki" } as const
const rsa = (modulusLength: number, type: "pkcs1" | "pkcs8"): string =>
  generateKeyPairSync("rsa", { modulusLength, privateKeyEncoding: { ...PRIVATE, type }, publicKeyEncoding: PUBLIC })
    .privateKey
const ec = (namedCurve: string, type: "sec1" | "pkcs8"): string =>
  generateKeyPairSync("ec", { namedCurve, privateKeyEncoding: { ...PRIVATE, type }, publicKeyEncoding: PUBLIC })
    .privateKey

const KEYS_MOST = Dose.of("PI_SESSIONS_KEYS", { test: 30, campaign: 300 })

/**
 * Private keys as OpenSSL writes them, with how many are made of 300: large keys take long to generate. One in fifteen RSA
 * keys of 1024 bits contains a placeholder word somewhere.
 */
const KEYS: { readonly [kind: string]: readonly [count: number, make: () => string] } = {
  "RSA 1024, PKCS#1": [100, () => rsa(1024, "pkcs1")],
  "RSA 1024, PKCS#8": [60, () => rsa(1024, "pkcs8")],
  "RSA 2048, PKCS#1": [10, () => rsa(2048, "pkcs1")],
  "RSA 3072, PKCS#8": [4, () => rsa(3072, "pkcs8")],
  "P-256, SEC1": [300, () => ec("P-256", "sec1")],
  "P-521, PKCS#8": [100, () => ec("P-521", "pkcs8")],
  "Ed25519, PKCS#8": [
    300,
    () =>
      generateKeyPairSync("ed25519", {
        privateKeyEncoding: { ...PRIVATE, type: "pkcs8" },
        publicKeyEncoding: PUBLIC
      }).privateKey
  ],
  "RSA 1024, PKCS#8 under a passphrase": [
    30,
    () =>
      generateKeyPairSync("rsa", {
        modulusLength: 1024,
        privateKeyEncoding: { ...PRIVATE, type: "pkcs8", cipher: "aes-256-cbc", passphrase: "a passphrase" },
        publicKeyEncoding: PUBLIC
      }).privateKey
  ]
}

/** Placeholder words as random characters may spell them, in common and odd case. */
const WORDS = ["fake", "FAKE", "fAkE", "mock", "moCK", "dummy", "Sample", "foobar", "xxxx", "XxXx", "abc123", "eXaMpLe"]

/** Puts a word between letters into the second half of a secret, and keeps its dots and line breaks. */
const spelling = (random: SeededRandom.SeededRandom, secret: string, word: string): string => {
  const half = Math.ceil(secret.length / 2)
  for (;;) {
    const from = half + random.int(secret.length - half - word.length - 2)
    const to = from + word.length + 2
    if (!/[.\n]/u.test(secret.slice(from, to))) return `${secret.slice(0, from)}k${word}Q${secret.slice(to)}`
  }
}

const TOKENS = Dose.of("PI_SESSIONS_TOKENS", { test: 4000, campaign: 60_000 })

describe("random secrets", () => {
  for (const [kind, [count, make]] of Object.entries(KEYS)) {
    it(`are removed: every private key, ${kind}`, () => {
      for (let i = 0; i < Math.ceil((count * KEYS_MOST) / 300); i++) {
        const key = make()
        const lines = key.trimEnd().split("\n").slice(1, -1)
        for (const text of [key, JSON.stringify({ key }), `cat key.pem\n${key}$`]) {
          const after = redacted(text)
          assert.isFalse(
            lines.some((line) => after.includes(line)),
            `line ${lines.findIndex((line) => after.includes(line)) + 1} of a key is left`
          )
        }
      }
    })
  }

  it("are removed: every token, whatever words its characters spell", () => {
    const random = SeededRandom.make(11)
    const left: Array<string> = []
    for (const kind of ["github-pat", "openai-project", "anthropic", "stripe-live", "facebook"]) {
      const make = KINDS.get(kind)
      for (let i = 0; i < TOKENS / 5; i++) {
        const { secret } = make?.(random) ?? { secret: "" }
        if (redacted(`x ${secret}`).includes(secret)) left.push(secret)
      }
    }
    assert.deepStrictEqual(left, [])
  })

  it("are removed although a placeholder word is between their letters", () => {
    const kinds = (
      "github-pat github-fine-grained gitlab-pat openai-project anthropic stripe-live facebook slack-bot npm pypi jwt " +
      "pem-rsa kubeconfig-key environment-api-key json-api-key header-bearer url-token azure-account-key"
    ).split(" ")
    const left: Array<string> = []
    for (const kind of kinds) {
      for (const word of WORDS) {
        for (let seed = 1; seed <= 20; seed++) {
          const random = SeededRandom.make(seed)
          const { secret, text } = KINDS.get(kind)?.(random) ?? { secret: "", text: "" }
          const spelt = spelling(random, secret, word)
          if (redacted(text.replace(secret, () => spelt)).includes(word)) left.push(`${word} in ${kind}, seed ${seed}`)
        }
      }
    }
    assert.deepStrictEqual(left, [])
  })

  it("are removed before an ellipsis, and with zero bytes in them", () => {
    const random = SeededRandom.make(5)
    const gitlab = KINDS.get("gitlab-pat")?.(random).secret ?? ""
    assert.match(redacted(`It is ${gitlab}... or so`), /^It is \[REDACTED:gitlab-pat:\d+\]/u)
    const zeros = `fm2_lJPEC${"A".repeat(9)}${characters(random, "abcdefABCDEF0123456789", 60)}`
    assert.match(redacted(zeros), /^\[REDACTED:flyio-access-token:\d+\]$/u)
  })

  it("stay if they are placeholders as a whole", () => {
    const places = ["ghp_", "sk-ant-api03-", "sk-proj-", "glpat-"]
    const bodies = ["your-api-key-goes-here-0123-abcd-efgh", "FAKE-0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o", "EXAMPLE".repeat(6)]
    for (const place of places) {
      for (const body of bodies) assert.strictEqual(redacted(`${place}${body}`), `${place}${body}`)
    }
  })
})

/** The source files of the workspace's dependencies. */
function* sources(dir: string): Generator<string> {
  for (const entry of Fs.readdirSync(dir, { withFileTypes: true })) {
    const path = Path.join(dir, entry.name)
    if (entry.isDirectory()) yield* sources(path)
    else if (entry.isFile() && /\.(?:[cm]?js|[cm]?ts)$/u.test(entry.name)) yield path
  }
}

const LIBRARY_BYTES = Dose.of("PI_SESSIONS_LIBRARY_BYTES", { test: 10e6, campaign: 40e6 })

const scan = (texts: Iterable<string>): { readonly megabytes: number; readonly hits: ReadonlyArray<string> } => {
  const scanner = new SecretScanner()
  const hits: Array<string> = []
  let length = 0
  for (const text of texts) {
    length += text.length
    for (const { rule } of scanner.find(text)) hits.push(rule)
  }
  return { megabytes: length / 1e6, hits }
}

const summary = ({ hits, megabytes }: ReturnType<typeof scan>, source: string): string =>
  `${source}: ${hits.length} findings in ${megabytes.toFixed(1)} MB, ${(hits.length / megabytes).toFixed(2)} per MB: ${hits.join(", ")}`

describe("texts without secrets", () => {
  it("give at most one finding per megabyte: library source code", () => {
    const root = Path.resolve(import.meta.dirname, "../../../node_modules/.pnpm")
    const texts = function* () {
      let bytes = 0
      for (const path of sources(root)) {
        const text = Fs.readFileSync(path, "utf8")
        yield text
        bytes += text.length
        if (bytes > LIBRARY_BYTES) return
      }
    }
    const found = scan(texts())
    print(summary(found, "library source code"))
    assert.isAtLeast(found.megabytes, Math.min(5, LIBRARY_BYTES / 1e6))
    assert.isAtMost(found.hits.length / found.megabytes, 1)
  })

  it("give at most one finding per megabyte: sessions of the corpus", () => {
    const corpus = process.env["PI_SESSIONS_CORPUS"]
    if (corpus === undefined || corpus === "") {
      print("PI_SESSIONS_CORPUS is not set: no corpus is read")
      return
    }
    const texts = function* () {
      for (const name of Fs.readdirSync(corpus)) {
        if (!name.endsWith(".jsonl")) continue
        const { tree } = Session.read(Fs.readFileSync(Path.join(corpus, name)))
        for (const entry of tree.getEntries()) yield* strings(entry.decode())
      }
    }
    const found = scan(texts())
    print(summary(found, "sessions of the corpus"))
    assert.isAtMost(found.hits.length / found.megabytes, 1)
  })
})

function* strings(value: unknown): Generator<string> {
  if (typeof value === "string") yield value
  else if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) yield* strings(member)
  }
}
