/**
 * Redaction: replaces secrets and names of people in text and JSON with placeholders.
 *
 * Object keys and ids are redacted too. Equal strings get equal placeholders, so calls stay paired with their results.
 * Redacting twice changes nothing. Nothing here fails, so no error message can contain a secret.
 */
import { type Json, isArray } from "@pi-sessions/core/Json"
import { type LongTexts, type TextEdit } from "@pi-sessions/core/SessionOutline"
import { HOMES, NAME_RULES, PersonalNames, type KnownNames, hostsOf, usersOf } from "./PersonalNames.ts"
import { type Placeholders } from "./Placeholders.ts"
import { type RedactionCounts } from "./RedactionRule.ts"
import { type ScannerOptions, SecretScanner } from "./SecretScanner.ts"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { type PlainObject } from "@pi-sessions/core/WellFormed"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { type Finding, merged } from "./internal/finding.ts"
import { TakenNames } from "./internal/takenNames.ts"
import { edited } from "./internal/textEdits.ts"

export interface RedactorOptions extends ScannerOptions {
  readonly placeholders: Placeholders
  /** Names to replace in every session, such as the user and host name of this machine. */
  readonly names?: Partial<KnownNames>
}

/** Redacts many sessions. The constructor compiles the rules, so create one per run. */
export class Redactor {
  readonly #scanner: SecretScanner
  readonly #placeholders: Placeholders
  readonly #names: KnownNames

  constructor({ names, placeholders, ...scanner }: RedactorOptions) {
    this.#scanner = new SecretScanner({ ...scanner, finders: [HOMES, ...(scanner.finders ?? [])] })
    this.#placeholders = placeholders
    this.#names = { users: names?.users ?? [], hosts: names?.hosts ?? [] }
  }

  /**
   * Returns the redaction of one session. It also replaces the user names of home directories in `paths`, and the host
   * names in shell prompts of these users in `texts`. `longTexts` resolves the texts that an outline replaced.
   */
  scope(
    paths: ReadonlyArray<string>,
    texts: Iterable<string> = [],
    longTexts?: LongTexts,
    budget?: SessionBudget
  ): RedactionScope {
    const users = [...new Set([...this.#names.users, ...usersOf(paths)])]
    const all = new Texts(longTexts, users.length > 0)
    const named = users.length === 0 ? [] : hostsOf(users, readAll(texts, all))
    const hosts = [...new Set([...this.#names.hosts, ...named])]
    return new RedactionScope(this.#scanner, this.#placeholders, new PersonalNames({ users, hosts }), all, budget)
  }
}

/** Reads and writes texts, some of which may be outline markers of long texts. */
class Texts {
  readonly #long: LongTexts | undefined
  /** Restored texts, if each is read more than once. */
  readonly #known: Map<string, string> | undefined

  constructor(long: LongTexts | undefined, isReadAgain: boolean) {
    this.#long = long
    this.#known = isReadAgain ? new Map() : undefined
  }

  /** The whole text. */
  read(text: string): string {
    if (this.#long?.has(text) !== true) return text
    const whole = this.#known?.get(text) ?? this.#long.restore(text)
    this.#known?.set(text, whole)
    return whole
  }

  /** Applies edits to `whole`, which is `read(text)`. Returns a marker if `text` is one. */
  edit(text: string, whole: string, edits: ReadonlyArray<TextEdit>): string {
    return this.#long?.edit(text, edits) ?? this.write(text, edited(whole, edits))
  }

  /** Returns `whole`, or a marker for it if `text` is one. */
  write(text: string, whole: string): string {
    return this.#long?.has(text) === true ? this.#long.put(whole) : whole
  }
}

function* readAll(texts: Iterable<string>, all: Texts): Generator<string> {
  for (const text of texts) yield all.read(text)
}

/** Replacing a secret can reveal another one, so texts are scanned again. Replacing a name cannot. */
const ROUNDS = 4
const PERSONAL = new Set<string>(Object.values(NAME_RULES))
/** Steps per character: the keyword search, and the rules tried at keywords. */
const SCAN_STEPS = 4
/** No rule matches a shorter text. */
const SHORTEST = 4

/** Redacts the texts of one session and counts replacements. */
export class RedactionScope {
  readonly #scanner: SecretScanner
  readonly #placeholders: Placeholders
  readonly #names: PersonalNames
  readonly #texts: Texts
  readonly #budget: SessionBudget | undefined
  readonly #counts = new Map<string, number>()

  constructor(
    scanner: SecretScanner,
    placeholders: Placeholders,
    names: PersonalNames,
    texts: Texts,
    budget?: SessionBudget
  ) {
    this.#scanner = scanner
    this.#placeholders = placeholders
    this.#names = names
    this.#texts = texts
    this.#budget = budget
  }

  /** The replacements so far, sorted by rule. */
  get counts(): RedactionCounts {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Returns the redacted text; the same string if there is nothing to redact. */
  text(text: string): string {
    const redacted = this.#redacted(text)
    if (redacted.isWellFormed()) return redacted
    // Pi removes lone surrogates when it sends a text, which can join the halves of a secret.
    const sent = WellFormed.text(redacted)
    const again = this.#redacted(sent)
    return again === sent ? redacted : again
  }

  #redacted(text: string): string {
    const whole = this.#texts.read(text)
    let current = whole
    for (let round = 0; round < ROUNDS; round++) {
      this.#budget?.charge("redaction", current.length * SCAN_STEPS)
      const findings = this.#find(current)
      if (findings.length === 0) break
      const isLast = findings.every(({ rule }) => PERSONAL.has(rule))
      const edits = this.#editsOf(findings)
      this.#budget?.charge("redaction", current.length, current.length)
      if (isLast && round === 0) return this.#texts.edit(text, whole, edits)
      current = edited(current, edits)
      if (isLast) break
    }
    return current === whole ? text : this.#texts.write(text, current)
  }

  /** Redacts the strings and keys of a value, and whole strings under keys such as `password`. */
  json(value: Json): Json {
    if (typeof value === "string") return this.text(value)
    if (typeof value !== "object" || value === null) return value
    return isArray(value) ? value.map((item) => this.json(item)) : this.object(value)
  }

  /** As `json`, for an object. */
  object(value: { readonly [key: string]: Json | undefined }): PlainObject {
    const members = new Map<string, Json>()
    const names = new TakenNames()
    const named = nameOf(value)
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue
      const name = names.unused(this.text(key))
      names.add(name)
      members.set(
        name,
        typeof member === "string" ? this.member(key === "value" ? named : key, member) : this.json(member)
      )
    }
    return Object.fromEntries(members)
  }

  /** Redacts the string under a key. The key may show that it is secret: `{ "password": "..." }`. */
  member(key: string, member: string): string {
    const value = this.#texts.read(member)
    this.#budget?.charge("redaction", value.length * SCAN_STEPS)
    const whole = this.#scanner.underKey(key, value)
    if (whole === undefined) return this.text(member)
    // A rule for the value's form is more specific than its key.
    return edited(value, this.#editsOf(merged([whole, ...this.#scanner.collect(value)])))
  }

  #find(text: string): ReadonlyArray<Finding> {
    if (text.length < SHORTEST) return []
    const secrets = this.#scanner.collect(text)
    const names = this.#names.collect(text)
    if (secrets.length + names.length === 0) return names
    return merged([...secrets, ...names])
  }

  /** Returns the replacements, and counts them. */
  #editsOf(findings: ReadonlyArray<Finding>): ReadonlyArray<TextEdit> {
    return findings.map(({ end, rule, start, value }) => {
      this.#counts.set(rule, (this.#counts.get(rule) ?? 0) + 1)
      return { start, end, by: this.#placeholderOf(rule, value) }
    })
  }

  #placeholderOf(rule: string, value: string): string {
    switch (rule) {
      case NAME_RULES.home:
      case NAME_RULES.user:
        return this.#placeholders.user(value)
      case NAME_RULES.host:
        return this.#placeholders.host(value)
      case NAME_RULES.email:
        return this.#placeholders.email(value)
      default:
        return this.#placeholders.secret(rule, value)
    }
  }
}

/** The key that describes `value` in `{ "name": "DB_PASSWORD", "value": "..." }`. */
const nameOf = (value: { readonly [key: string]: Json | undefined }): string => {
  const name = value["name"] ?? value["key"]
  return typeof name === "string" ? name : "value"
}
