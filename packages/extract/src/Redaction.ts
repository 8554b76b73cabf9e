/**
 * Redaction: a sample, or any text, without the secrets and the names of people in it. It stands between the cut and the
 * formats, so that every format sees its result; what a report or a viewer shows goes through the same scope.
 *
 * Every string is looked at, keys of arguments and ids too. What pairs calls with results stays paired, since equal strings
 * have equal results. What is redacted once is not changed by being redacted again. Only counts leave this module, and
 * nothing in it fails, so that no error message can hold a value.
 */
import { type Json, isArray } from "@pi-sessions/core/Json"
import { type LongTexts, type TextEdit } from "@pi-sessions/core/SessionOutline"
import { HOMES, NAME_RULES, PersonalNames, type ToldNames, hostsOf, usersOf } from "./PersonalNames.ts"
import { type Placeholders } from "./Placeholders.ts"
import { type RedactionCounts } from "./RedactionRule.ts"
import { type ScannerOptions, SecretScanner } from "./SecretScanner.ts"
import { type ToolDefinition } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { type ToolCall, type ToolResult, type Turn, type TurnMetadata } from "./Turn.ts"
import { type PlainObject } from "./WellFormed.ts"
import { type Finding, merged } from "./internal/redaction/finding.ts"
import { IMAGE_NAME } from "./internal/sessionImages.ts"

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
   * that prompts in `texts` name beside these users. `longTexts` are those that are set aside in them.
   */
  scope(paths: ReadonlyArray<string>, texts: Iterable<string> = [], longTexts?: LongTexts): RedactionScope {
    const users = [...new Set([...this.#names.users, ...usersOf(paths)])]
    const all = new Texts(longTexts, users.length > 0)
    const named = users.length === 0 ? [] : hostsOf(users, readAll(texts, all))
    const hosts = [...new Set([...this.#names.hosts, ...named])]
    return new RedactionScope(this.#scanner, this.#placeholders, new PersonalNames({ users, hosts }), all)
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
/** No rule takes out anything shorter. */
const SHORTEST = 4

/** Redacts the texts of one session, and counts. */
export class RedactionScope {
  readonly #scanner: SecretScanner
  readonly #placeholders: Placeholders
  readonly #names: PersonalNames
  readonly #texts: Texts
  readonly #counts = new Map<string, number>()

  constructor(scanner: SecretScanner, placeholders: Placeholders, names: PersonalNames, texts: Texts) {
    this.#scanner = scanner
    this.#placeholders = placeholders
    this.#names = names
    this.#texts = texts
  }

  /** What was taken out so far, by rule, in the order of the rules' names. */
  get counts(): RedactionCounts {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The text itself, with what is set aside in it, where there is nothing to take out. */
  text(text: string): string {
    const whole = this.#texts.read(text)
    let current = whole
    for (let round = 0; round < ROUNDS; round++) {
      const findings = this.#find(current)
      if (findings.length === 0) break
      const isLast = findings.every(({ rule }) => PERSONAL.has(rule))
      const edits = this.#editsOf(findings)
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
    const named = nameOf(value)
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue
      const name = this.text(key)
      const unique = members.has(name) ? this.#unused(name, members) : name
      members.set(
        unique,
        typeof member === "string" ? this.member(key === "value" ? named : key, member) : this.json(member)
      )
    }
    return Object.fromEntries(members)
  }

  #unused(name: string, members: ReadonlyMap<string, Json>): string {
    let number = 2
    while (members.has(`${name} (${number})`)) number++
    return `${name} (${number})`
  }

  /** The value of a member, whose key may tell what it is: `{ "password": "..." }`. */
  member(key: string, member: string): string {
    const value = this.#texts.read(member)
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

export interface Redacted {
  readonly sample: TrainingSample
  readonly counts: RedactionCounts
}

/**
 * The sample without secrets and names of people. Of `texts`, which are set aside in it, those with nothing to take out
 * stay so.
 */
export const redact = (sample: TrainingSample, redactor: Redactor, texts?: LongTexts): Redacted => {
  const { metadata } = sample
  const paths = [sample.cwd, sample.source_path, metadata.parent_session ?? "", metadata.town ?? ""]
  const scope = redactor.scope(
    paths,
    sample.turns.flatMap(({ content, tool_results }) => [content, ...tool_results.map((result) => result.content)]),
    texts
  )
  const redacted: TrainingSample = {
    ...sample,
    session_id: scope.text(sample.session_id),
    // The directories tell who works where, and what a secret is: so they go last.
    source_path: nameOfFile(scope.text(sample.source_path)),
    cwd: scope.text(sample.cwd),
    turns: sample.turns.map((turn) => redactTurn(turn, scope)),
    ...(sample.rejected === undefined ? {} : { rejected: redactTurn(sample.rejected, scope) }),
    tools: sample.tools.map((tool) => redactTool(tool, scope)),
    metadata: redactMetadata(metadata, scope)
  }
  return { sample: redacted, counts: scope.counts }
}

const nameOfFile = (path: string): string => path.split(/[/\\]/u).at(-1) ?? path

/** Members whose words are set by schemas. */
const WORDS = new Set(["role", "role_source", "tools_source", "start", "context", "pi", "system_source"])

const redactMetadata = (metadata: TrainingSample["metadata"], scope: RedactionScope): TrainingSample["metadata"] => {
  const redacted = { ...metadata, ...texts(metadata, scope) }
  const { parent_session } = redacted
  return parent_session === undefined ? redacted : { ...redacted, parent_session: nameOfFile(parent_session) }
}

const redactTurn = (turn: Turn, scope: RedactionScope): Turn => ({
  ...turn,
  content: scope.text(turn.content),
  ...redactImages(turn, scope),
  tool_calls: turn.tool_calls.map((call) => redactCall(call, scope)),
  tool_results: turn.tool_results.map((result) => redactResult(result, scope)),
  timestamp: scope.text(turn.timestamp),
  uuid: scope.text(turn.uuid),
  metadata: redactTurnMetadata(turn.metadata, scope)
})

const redactTurnMetadata = (metadata: TurnMetadata, scope: RedactionScope): TurnMetadata => ({
  ...metadata,
  ...texts(metadata, scope),
  ...(metadata.unanswered === undefined ? {} : { unanswered: metadata.unanswered.map((id) => scope.text(id)) })
})

const redactCall = (call: ToolCall, scope: RedactionScope): ToolCall => ({
  id: scope.text(call.id),
  name: scope.text(call.name),
  arguments: scope.object(call.arguments)
})

const redactResult = (result: ToolResult, scope: RedactionScope): ToolResult => ({
  ...result,
  tool_call_id: scope.text(result.tool_call_id),
  tool_name: scope.text(result.tool_name),
  content: scope.text(result.content),
  ...redactImages(result, scope)
})

/** Names that are ours say nothing. */
const redactImages = ({ images }: Pick<Turn, "images">, scope: RedactionScope): Pick<Turn, "images"> =>
  images === undefined ? {} : { images: images.map((name) => (IMAGE_NAME.test(name) ? name : scope.text(name))) }

const redactTool = (tool: ToolDefinition, scope: RedactionScope): ToolDefinition => ({
  name: scope.text(tool.name),
  description: scope.text(tool.description),
  parameters: scope.object(tool.parameters)
})

/** The members that are texts, redacted: all that hold strings but those of set words, so that new ones are covered. */
const texts = (object: object, scope: RedactionScope): { [key: string]: string } => {
  const found: { [key: string]: string } = {}
  for (const [key, value] of Object.entries(object)) {
    if (typeof value === "string" && !WORDS.has(key)) found[key] = scope.text(value)
  }
  return found
}
