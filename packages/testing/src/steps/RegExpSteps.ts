/**
 * Counts the steps that a backtracking matcher needs for a regular expression.
 *
 * V8 does not report its backtracking. This matcher follows the ECMAScript specification as V8 does, counts each
 * instruction, and is compared with V8's result on every use.
 */
import { type AST, RegExpParser } from "@eslint-community/regexpp"

/** Where a match begins and ends, and the number of steps to find it, or to find that there is none. */
export interface MatchSteps {
  readonly steps: number
  readonly match: readonly [start: number, end: number] | undefined
}

/** Compiled expressions by source and flags. */
const programs = new Map<string, Program>()

/** More steps than these are not linear for any text that tests use: the search ends with an error. */
const STEPS_MAX = 200_000_000

/** Searches from `from`, or only there if the expression is sticky. Flag `v` and inline modifiers are not supported. */
export const matchSteps = (expression: RegExp, text: string, from: number): MatchSteps => {
  const key = `${expression.flags}/${expression.source}`
  let program = programs.get(key)
  if (program === undefined) programs.set(key, (program = new Compiler(expression).program()))
  return new Matcher(program, text).search(from, expression.sticky)
}

type Test = (code: number) => boolean

/** `next` of a choice is tried first, `other` if that fails. */
type Instruction =
  | { readonly op: "char"; readonly test: Test; readonly behind: boolean }
  | { readonly op: "choice"; readonly next: number; readonly other: number }
  | { readonly op: "jump"; readonly next: number }
  | { readonly op: "set"; readonly register: number; readonly value: "position" | "zero" | "none" }
  | { readonly op: "count"; readonly register: number }
  | {
      readonly op: "loop"
      readonly register: number
      readonly min: number
      readonly max: number
      readonly greedy: boolean
      readonly exit: number
    }
  | { readonly op: "moved"; readonly register: number; readonly count: number; readonly min: number }
  | { readonly op: "edge"; readonly edge: "start" | "end" | "border" | "inside" }
  | { readonly op: "look"; readonly negate: boolean; readonly exit: number }
  | { readonly op: "reference"; readonly groups: ReadonlyArray<number>; readonly behind: boolean }
  | { readonly op: "match" }

interface Program {
  readonly code: ReadonlyArray<Instruction>
  readonly registers: number
  readonly unicode: boolean
  readonly ignoreCase: boolean
  readonly multiline: boolean
}

class Compiler {
  readonly #code: Array<Instruction> = []
  readonly #expression: RegExp
  readonly #pattern: AST.Pattern
  readonly #groups: ReadonlyArray<AST.CapturingGroup>
  #registers: number

  constructor(expression: RegExp) {
    this.#expression = expression
    const { source, unicode } = expression
    this.#pattern = new RegExpParser().parsePattern(source, 0, source.length, { unicode, unicodeSets: false })
    const groups: Array<AST.CapturingGroup> = []
    collectGroups(this.#pattern, groups)
    this.#groups = groups.toSorted((a, b) => a.start - b.start)
    this.#registers = 2 * groups.length
  }

  program(): Program {
    this.#alternatives(this.#pattern.alternatives, false)
    this.#code.push({ op: "match" })
    const { ignoreCase, multiline, unicode } = this.#expression
    return { code: this.#code, registers: this.#registers, unicode, ignoreCase, multiline }
  }

  #alternatives(alternatives: ReadonlyArray<AST.Alternative>, behind: boolean): void {
    const jumps: Array<number> = []
    for (const [at, { elements }] of alternatives.entries()) {
      const choice = this.#code.length
      if (at < alternatives.length - 1) this.#code.push({ op: "match" })
      for (const element of behind ? elements.toReversed() : elements) this.#element(element, behind)
      if (at === alternatives.length - 1) break
      jumps.push(this.#code.push({ op: "match" }) - 1)
      this.#code[choice] = { op: "choice", next: choice + 1, other: this.#code.length }
    }
    for (const jump of jumps) this.#code[jump] = { op: "jump", next: this.#code.length }
  }

  #element(node: AST.Element, behind: boolean): void {
    switch (node.type) {
      case "Group":
        return this.#alternatives(node.alternatives, behind)
      case "CapturingGroup": {
        const register = 2 * this.#groups.indexOf(node)
        this.#code.push({ op: "set", register: behind ? register + 1 : register, value: "position" })
        this.#alternatives(node.alternatives, behind)
        this.#code.push({ op: "set", register: behind ? register : register + 1, value: "position" })
        return
      }
      case "Quantifier":
        return this.#quantifier(node, behind)
      case "Assertion":
        return this.#assertion(node)
      case "Backreference": {
        const resolved = Array.isArray(node.resolved) ? node.resolved : [node.resolved]
        this.#code.push({ op: "reference", groups: resolved.map((group) => this.#groups.indexOf(group)), behind })
        return
      }
      default:
        this.#code.push({ op: "char", test: testOf(node.raw, this.#expression), behind })
    }
  }

  #quantifier(node: AST.Quantifier, behind: boolean): void {
    const count = this.#registers++
    const position = this.#registers++
    this.#code.push({ op: "set", register: count, value: "zero" })
    const loop = this.#code.push({ op: "match" }) - 1
    const inside: Array<AST.CapturingGroup> = []
    collectGroups(node.element, inside)
    for (const group of inside) {
      const register = 2 * this.#groups.indexOf(group)
      this.#code.push({ op: "set", register, value: "none" }, { op: "set", register: register + 1, value: "none" })
    }
    this.#code.push({ op: "set", register: position, value: "position" })
    this.#element(node.element, behind)
    this.#code.push(
      { op: "moved", register: position, count, min: node.min },
      { op: "count", register: count },
      { op: "jump", next: loop }
    )
    const { greedy, max, min } = node
    this.#code[loop] = { op: "loop", register: count, min, max, greedy, exit: this.#code.length }
  }

  #assertion(node: AST.Assertion): void {
    if (node.kind === "lookahead" || node.kind === "lookbehind") {
      const look = this.#code.push({ op: "match" }) - 1
      this.#alternatives(node.alternatives, node.kind === "lookbehind")
      this.#code.push({ op: "match" })
      this.#code[look] = { op: "look", negate: node.negate, exit: this.#code.length }
    } else if (node.kind === "word") {
      this.#code.push({ op: "edge", edge: node.negate ? "inside" : "border" })
    } else this.#code.push({ op: "edge", edge: node.kind })
  }
}

const collectGroups = (node: AST.Node, into: Array<AST.CapturingGroup>): void => {
  if (node.type === "CapturingGroup") into.push(node)
  if (node.type === "Quantifier") collectGroups(node.element, into)
  if ("alternatives" in node) for (const one of node.alternatives) collectGroups(one, into)
  if (node.type === "Alternative") for (const one of node.elements) collectGroups(one, into)
}

/** Whether a character is matched by a part of an expression that is one character long. V8 decides, once for each. */
const testOf = (raw: string, { dotAll, ignoreCase, unicode }: RegExp): Test => {
  const flags = `${dotAll ? "s" : ""}${ignoreCase ? "i" : ""}${unicode ? "u" : ""}`
  const known = tests.get(`${flags}/${raw}`)
  if (known !== undefined) return known
  const test = nativeTest(new RegExp(`^(?:${raw})$`, flags))
  tests.set(`${flags}/${raw}`, test)
  return test
}

const tests = new Map<string, Test>()

const nativeTest = (expression: RegExp): Test => {
  // By code point: 0 for unknown, 1 for no, 2 for yes.
  const known = new Uint8Array(0x110000)
  return (code) => {
    if (known[code] === 0) known[code] = nativeExec.call(expression, String.fromCodePoint(code)) === null ? 1 : 2
    return known[code] === 2
  }
}

/** Kept, because a step counter replaces it. */
const nativeExec = RegExp.prototype.exec

const LINE_ENDS = new Set([0x0a, 0x0d, 0x2028, 0x2029])

const isWord = (code: number | undefined): boolean =>
  code !== undefined &&
  ((code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122))

/** A place to go back to. */
interface Choice {
  readonly at: number
  readonly position: number
  readonly trail: number
}

class Matcher {
  readonly #program: Program
  readonly #text: string
  readonly #registers: Int32Array
  /** Registers and their former values, to be restored by going back. */
  readonly #trail: Array<number> = []
  readonly #choices: Array<Choice> = []
  #steps = 0
  #position = 0

  constructor(program: Program, text: string) {
    this.#program = program
    this.#text = text
    this.#registers = new Int32Array(program.registers).fill(-1)
  }

  search(from: number, sticky: boolean): MatchSteps {
    let start = from
    // Within a surrogate pair, `u` begins at the pair.
    if (this.#program.unicode && start > 0 && start < this.#text.length && this.#codeBefore(start + 1) > 0xffff) start--
    const [first] = this.#program.code
    for (; start <= this.#text.length; start += this.#width(start)) {
      this.#position = start
      if (first?.op === "char" && !first.behind && !this.#char(first.test, false)) this.#steps++
      else {
        this.#position = start
        if (this.#run(0)) return { steps: this.#steps, match: [start, this.#position] }
        this.#undo(0)
      }
      if (sticky) break
    }
    return { steps: this.#steps, match: undefined }
  }

  #run(first: number): boolean {
    const { code } = this.#program
    const base = this.#choices.length
    let at = first
    for (;;) {
      if (++this.#steps > STEPS_MAX) throw new Error(`a regular expression needs over ${STEPS_MAX} steps`)
      const instruction = code[at]
      if (instruction === undefined || instruction.op === "match") {
        this.#choices.length = base
        return true
      }
      const next = this.#step(instruction, at)
      if (next !== undefined) at = next
      else {
        if (this.#choices.length === base) return false
        at = this.#back()
      }
    }
  }

  /** Executes one instruction. Returns where to go on; undefined if it does not match. */
  #step(instruction: Exclude<Instruction, { readonly op: "match" }>, at: number): number | undefined {
    switch (instruction.op) {
      case "char":
        return this.#char(instruction.test, instruction.behind) ? at + 1 : undefined
      case "choice":
        this.#choices.push({ at: instruction.other, position: this.#position, trail: this.#trail.length })
        return instruction.next
      case "jump":
        return instruction.next
      case "set":
        this.#set(
          instruction.register,
          instruction.value === "position" ? this.#position : instruction.value === "zero" ? 0 : -1
        )
        return at + 1
      case "count":
        this.#set(instruction.register, (this.#registers[instruction.register] ?? 0) + 1)
        return at + 1
      case "loop": {
        const count = this.#registers[instruction.register] ?? 0
        if (count < instruction.min) return at + 1
        if (count >= instruction.max) return instruction.exit
        const [next, other] = instruction.greedy ? [at + 1, instruction.exit] : [instruction.exit, at + 1]
        this.#choices.push({ at: other, position: this.#position, trail: this.#trail.length })
        return next
      }
      case "moved": {
        const isEmpty = this.#registers[instruction.register] === this.#position
        return isEmpty && (this.#registers[instruction.count] ?? 0) >= instruction.min ? undefined : at + 1
      }
      case "edge":
        return this.#isAtEdge(instruction.edge) ? at + 1 : undefined
      case "look":
        return this.#look(at + 1, instruction.negate) ? instruction.exit : undefined
      case "reference":
        return instruction.groups.every((group) => this.#reference(group, instruction.behind)) ? at + 1 : undefined
    }
  }

  #back(): number {
    const choice = this.#choices.pop() ?? { at: 0, position: 0, trail: 0 }
    this.#undo(choice.trail)
    this.#position = choice.position
    return choice.at
  }

  #undo(length: number): void {
    while (this.#trail.length > length) {
      const value = this.#trail.pop() ?? 0
      this.#registers[this.#trail.pop() ?? 0] = value
    }
  }

  #set(register: number, value: number): void {
    this.#trail.push(register, this.#registers[register] ?? -1)
    this.#registers[register] = value
  }

  #look(first: number, negate: boolean): boolean {
    const position = this.#position
    const trail = this.#trail.length
    const found = this.#run(first)
    this.#position = position
    if (!found || negate) this.#undo(trail)
    return found !== negate
  }

  #char(test: Test, behind: boolean): boolean {
    if (behind ? this.#position === 0 : this.#position >= this.#text.length) return false
    const code = behind ? this.#codeBefore(this.#position) : this.#codeAt(this.#position)
    if (!test(code)) return false
    const width = code > 0xffff ? 2 : 1
    this.#position += behind ? -width : width
    return true
  }

  #reference(group: number, behind: boolean): boolean {
    const [start = -1, end = -1] = this.#registers.subarray(2 * group, 2 * group + 2)
    if (start < 0 || end < 0) return true
    const wanted = this.#text.slice(start, end)
    this.#steps += wanted.length
    const from = behind ? this.#position - wanted.length : this.#position
    const found = from < 0 ? "" : this.#text.slice(from, from + wanted.length)
    const isSame = found === wanted || (this.#program.ignoreCase && found.toLowerCase() === wanted.toLowerCase())
    if (isSame) this.#position += behind ? -wanted.length : wanted.length
    return isSame
  }

  #isAtEdge(edge: "start" | "end" | "border" | "inside"): boolean {
    const before = this.#position > 0 ? this.#text.charCodeAt(this.#position - 1) : undefined
    const after = this.#position < this.#text.length ? this.#text.charCodeAt(this.#position) : undefined
    const { multiline } = this.#program
    if (edge === "start") return before === undefined || (multiline && LINE_ENDS.has(before))
    if (edge === "end") return after === undefined || (multiline && LINE_ENDS.has(after))
    return (isWord(before) !== isWord(after)) === (edge === "border")
  }

  #width(position: number): number {
    return this.#program.unicode && this.#codeAt(position) > 0xffff ? 2 : 1
  }

  #codeAt(position: number): number {
    return (this.#program.unicode ? this.#text.codePointAt(position) : this.#text.charCodeAt(position)) ?? 0
  }

  #codeBefore(position: number): number {
    const code = this.#text.charCodeAt(position - 1)
    const isPair = this.#program.unicode && position > 1 && code >= 0xdc00 && code <= 0xdfff
    const whole = isPair ? (this.#text.codePointAt(position - 2) ?? 0) : 0
    return whole > 0xffff ? whole : code
  }
}
