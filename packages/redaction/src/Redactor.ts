/**
 * Redaction: text and JSON without secrets and names of people.
 *
 * Keys of objects and ids are redacted too. Equal strings get equal placeholders, so calls stay paired with their results.
 * Redacting twice changes nothing. Only counts leave this module, and nothing in it fails, so no error message can hold a
 * secret.
 */
import { type Json, isArray } from "@pi-sessions/core/Json"
import { type LongTexts, type TextEdit } from "@pi-sessions/core/SessionOutline"
import { HOMES, NAME_RULES, PersonalNames, type ToldNames, hostsOf, usersOf } from "./PersonalNames.ts"
import { type Placeholders } from "./Placeholders.ts"
import { type RedactionCounts } from "./RedactionRule.ts"
import { type ScannerOptions, SecretScanner } from "./SecretScanner.ts"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { type PlainObject } from "@pi-sessions/core/WellFormed"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { type Finding, merged } from "./internal/finding.ts"
import { TakenNames } from "./internal/takenNames.ts"

export interface RedactorOptions extends ScannerOptions {
  readonly placeholders: Placeholders
  /** Names of people and machines that sessions do not tell, such as those of who runs this. */
  readonly names?: Partial<ToldNames>
}

/** Redacts texts of one session after another. Making one compiles its rules, so make one for a run. */
export class Redactor {
  readonly #scanner: SecretScanner
  readonly #placeholders: Placeholders
  readonly #names: ToldNames

  constructor({ names, placeholders, ...scanner }: RedactorOptions) {
    this.#scanner = new SecretScanner({ ...scanner, finders: [HOMES, ...(scanner.finders ?? [])] })
    this.#placeholders = placeholders
    this.#names = { users: names?.users ?? [], hosts: names?.hosts ?? [] }
  }

  /**
   * For the texts of one session: the users in whose homes its paths lie are taken out of all of them, and the machines
   * that prompts in `texts` name beside these users. `longTexts` are those that are set aside in them. The work is charged
   * to the budget.
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

/** Texts, of which long ones may be set aside. */
class Texts {
  readonly #long: LongTexts | undefined
  /** What was decoded, where all is looked at more than once. */
  readonly #known: Map<string, string> | undefined

  constructor(long: LongTexts | undefined, isReadAgain: boolean) {
    this.#long = long
    this.#known = isReadAgain ? new Map() : undefined
  }

  /** The text, with what is set aside in it. */
  read(text: string): string {
    if (this.#long?.has(text) !== true) return text
    const whole = this.#known?.get(text) ?? this.#long.restore(text)
    this.#known?.set(text, whole)
    return whole
  }

  /** What stands for `whole`, which is `text` as it is read, with edits. */
  edit(text: string, whole: string, edits: ReadonlyArray<TextEdit>): string {
    return this.#long?.edit(text, edits) ?? this.write(text, edited(whole, edits))
  }

  /** What stands for `whole`, which was made of `text`. */
  write(text: string, whole: string): string {
    return this.#long?.has(text) === true ? this.#long.put(whole) : whole
  }
}

function* readAll(texts: Iterable<string>, all: Texts): Generator<string> {
  for (const text of texts) yield all.read(text)
}

/** A second look finds what taking out a secret has laid bare. Names are words, and leave other words as they were. */
const ROUNDS = 4
const PERSONAL = new Set<string>(Object.values(NAME_RULES))
/** Of each character: all keywords are looked for, and rules are tried where one stands. */
const SCAN_STEPS = 4
/** No rule takes out anything shorter. */
const SHORTEST = 4

/** Redacts the texts of one session, and counts. */
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

  /** What was taken out so far, by rule, in the order of the rules' names. */
  get counts(): RedactionCounts {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The text itself, with what is set aside in it, where there is nothing to take out. */
  text(text: string): string {
    const redacted = this.#redacted(text)
    if (redacted.isWellFormed()) return redacted
    // A lone surrogate may split a secret, and whoever sends the text removes it, as Pi does.
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

  /** The value with its strings and keys redacted, and strings under keys such as `password`. */
  json(value: Json): Json {
    if (typeof value === "string") return this.text(value)
    if (typeof value !== "object" || value === null) return value
    return isArray(value) ? value.map((item) => this.json(item)) : this.object(value)
  }

  /** The object with its strings and keys redacted. */
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

  /** The value of a member, whose key may tell what it is: `{ "password": "..." }`. */
  member(key: string, member: string): string {
    const value = this.#texts.read(member)
    this.#budget?.charge("redaction", value.length * SCAN_STEPS)
    const whole = this.#scanner.underKey(key, value)
    if (whole === undefined) return this.text(member)
    // A rule that knows the value by its form names it better than its key does.
    return edited(value, this.#editsOf(merged([whole, ...this.#scanner.collect(value)])))
  }

  #find(text: string): ReadonlyArray<Finding> {
    if (text.length < SHORTEST) return []
    const secrets = this.#scanner.collect(text)
    const names = this.#names.collect(text)
    if (secrets.length + names.length === 0) return names
    return merged([...secrets, ...names])
  }

  /** What to put in their places; they count from now on. */
  #editsOf(findings: ReadonlyArray<Finding>): ReadonlyArray<TextEdit> {
    return findings.map(({ end, rule, start, value }) => {
      this.#counts.set(rule, (this.#counts.get(rule) ?? 0) + 1)
      return { start, end, by: this.#standIn(rule, value) }
    })
  }

  #standIn(rule: string, value: string): string {
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

const edited = (text: string, edits: ReadonlyArray<TextEdit>): string => {
  const parts: Array<string> = []
  let from = 0
  for (const { by, end, start } of edits) {
    parts.push(text.slice(from, start), by)
    from = end
  }
  parts.push(text.slice(from))
  return parts.join("")
}

/** What `{ "name": "DB_PASSWORD", "value": "..." }` names. */
const nameOf = (value: { readonly [key: string]: Json | undefined }): string => {
  const name = value["name"] ?? value["key"]
  return typeof name === "string" ? name : "value"
}
