/**
 * What a line for the shell runs, as far as it can be read without running it: the commands with their words, and which
 * of them must have succeeded when the line did. Quotes, substitutions and here-documents are understood, so that what
 * stands in them (a commit message, say) is not taken for a command.
 */

export interface ShellCommand {
  /** The program and its arguments, quotes taken off; without assignments before it and redirections. */
  readonly words: ReadonlyArray<string>
  /** Whether status 0 of the whole line means that this command ran and ended with status 0 too. */
  readonly proven: boolean
  /** Whether the end of what it prints is left as it is: no pipe behind it leads through more than `tail`, `tee` and `cat`. */
  readonly shown: boolean
}

/** The commands of a line in order; none where it cannot be read. Those in substitutions are not among them. */
export const commandsOf = (line: string): ReadonlyArray<ShellCommand> => {
  const steps = new LineReader(line).list("")?.filter(({ words }) => words.length > 0) ?? []
  // Only the last list decides the status, and `||` or a compound command leave open what ran of it.
  const from = steps.findLastIndex(({ next }, at) => at < steps.length - 1 && LIST_ENDS.has(next)) + 1
  const isSimple = !steps.some(({ words }) => COMPOUND.has(words[0] ?? "") || words[1] === "(")
  const isPlain = isSimple && steps.at(-1)?.next !== "&" && steps.slice(from).every(({ next }) => next !== "||")
  const leaving = steps.findIndex(({ words }) => mayLeave(words))
  const proven = ({ next }: Step, at: number): boolean =>
    isPlain && at >= from && next !== "|" && (leaving < 0 || at <= leaving)
  const isCut = steps.map(({ next }, at) => next === "|" && !showsEnd(steps[at + 1]?.words ?? []))
  // A pipe behind a compound command is one behind each command in it.
  const isAnyCut = isCut.includes(true)
  for (let at = steps.length - 2; at >= 0; at--) {
    if (steps[at]?.next === "|") isCut[at] ||= isCut[at + 1] === true
  }
  return steps.map((step, at) => ({
    words: step.words,
    proven: proven(step, at),
    shown: isSimple ? isCut[at] === false : !isAnyCut
  }))
}

/** Whether nothing behind this command need run, though the line ends well: a shell that is left, or told to run nothing. */
const mayLeave = (words: ReadonlyArray<string>): boolean => {
  const at = words.findIndex((word) => !/^(?:command|builtin|time|-\w+)$/u.test(word))
  const word = words[at] ?? ""
  if (word === "set") return words.some((flag) => /^-[a-z]*n|^noexec$/u.test(flag))
  return LEAVING.has(word) || /^[$`][^/]*$/u.test(word)
}

/** Whether a command prints the end of what it reads, whatever stands in it. */
const showsEnd = ([program, ...args]: ReadonlyArray<string>): boolean => {
  if (program === "tail") return args.every((arg) => /^[-+]|^\d+$/u.test(arg))
  return program === "tee" || (program === "cat" && args.every((arg) => arg.startsWith("-")))
}

/** A command, and the operator behind it; empty at the end. */
interface Step {
  readonly words: Array<string>
  next: string
}

const LIST_ENDS = new Set([";", "&", "\n"])
const OPERATORS = ["&&", "||", "|&", ";;", ";", "|", "&", "\n"]
const COMPOUND = new Set(["if", "for", "while", "until", "case", "select", "function", "{", "(", "!"])
/** `eval` and `trap` run what stands in their words, `exec` another program in place of the shell. */
const LEAVING = new Set(["exit", "return", "exec", "eval", "trap"])
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/u

/** Deeper ones are nobody's work. */
const DEPTH_MAX = 64

class LineReader {
  readonly #text: string
  #at = 0
  /** Of substitutions in substitutions. */
  #depth = 0
  /** Delimiters of here-documents whose bodies begin on the next line. */
  #documents: Array<string> = []

  constructor(text: string) {
    this.#text = text
  }

  /** Reads up to `end`, which is consumed; undefined where the line ends before it, or within quotes. */
  list(end: string): ReadonlyArray<Step> | undefined {
    const steps: Array<Step> = [{ words: [], next: "" }]
    for (;;) {
      const step = steps.at(-1)
      if (step === undefined) return undefined
      this.#space()
      if (this.#at >= this.#text.length) return end === "" ? steps : undefined
      if (end !== "" && this.#takes(end)) return steps
      const operator = OPERATORS.find((one) => this.#takes(one))
      if (operator !== undefined) {
        if (operator === "\n") this.#skipDocuments()
        if (step.words.length === 0) continue
        step.next = operator === "|&" ? "|" : operator
        steps.push({ words: [], next: "" })
        continue
      }
      if (this.#takes("(") || this.#takes(")")) {
        step.words.push("(")
        continue
      }
      if (this.#redirection()) continue
      const word = this.#word()
      if (word === undefined) return undefined
      if (step.words.length > 0 || !ASSIGNMENT.test(word)) step.words.push(word)
    }
  }

  #takes(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #space(): void {
    for (;;) {
      if (this.#takes(" ") || this.#takes("\t") || this.#takes("\r") || this.#takes("\\\n")) continue
      if (this.#text[this.#at] !== "#") return
      const newline = this.#text.indexOf("\n", this.#at)
      this.#at = newline < 0 ? this.#text.length : newline
    }
  }

  /** `2>&1`, `> file`, `<<'EOF'` and their like; what is read or written is no word of the command. */
  #redirection(): boolean {
    const found = /^(?:\d+|&)?(?:<<<|<<-?|<&|<>|<|>>|>&|>\||>)/u.exec(this.#text.slice(this.#at, this.#at + 8))
    if (found === null) return false
    this.#at += found[0].length
    this.#space()
    const word = this.#word() ?? ""
    if (/<<-?$/u.test(found[0])) this.#documents.push(word)
    return true
  }

  /** At the start of a line: over the bodies of here-documents. */
  #skipDocuments(): void {
    for (const delimiter of this.#documents) {
      for (;;) {
        if (this.#at >= this.#text.length) break
        const newline = this.#text.indexOf("\n", this.#at)
        const next = newline < 0 ? this.#text.length : newline + 1
        const line = this.#text.slice(this.#at, newline < 0 ? next : newline)
        this.#at = next
        if (line.trim() === delimiter) break
      }
    }
    this.#documents = []
  }

  /** A word without its quotes; undefined where a quote does not end. */
  #word(): string | undefined {
    let word = ""
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined || /[\s;|&<>()]/u.test(char)) return word
      this.#at++
      if (char === "\\") word += this.#text[this.#at++] ?? ""
      else if (char === "'") {
        const end = this.#text.indexOf("'", this.#at)
        if (end < 0) return undefined
        word += this.#text.slice(this.#at, end)
        this.#at = end + 1
      } else if (char === '"') {
        const quoted = this.#doubleQuoted()
        if (quoted === undefined) return undefined
        word += quoted
      } else if (char === "$" || char === "`") {
        if (!this.#substitution(char)) return undefined
        word += char
      } else word += char
    }
  }

  #doubleQuoted(): string | undefined {
    let text = ""
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) return undefined
      this.#at++
      if (char === '"') return text
      if (char === "\\") text += this.#text[this.#at++] ?? ""
      else if (char === "$" || char === "`") {
        if (!this.#substitution(char)) return undefined
        text += char
      } else text += char
    }
  }

  /** Past `$(...)` or what stands between backquotes, whose first character was read; whether it ends. */
  #substitution(first: "$" | "`"): boolean {
    if (first === "$") {
      if (!this.#takes("(")) return true
      if (this.#depth === DEPTH_MAX) return false
      const outer = this.#documents
      this.#documents = []
      this.#depth++
      const inner = this.list(")")
      this.#depth--
      this.#documents = outer
      return inner !== undefined
    }
    const end = this.#text.indexOf("`", this.#at)
    this.#at = end + 1
    return end >= 0
  }
}
