/**
 * The commands of a shell line: their words, and which of them must have succeeded if the line did.
 *
 * `unbash` parses the line. Text in quotes, substitutions and here-documents (a commit message, for example) is not a
 * command. What is too large or too deep to parse in linear time is not parsed.
 */
import { type CommandNode, type PipelineNode, type Statement, type Word, type WordPart, parse } from "unbash"

export interface ShellCommand {
  /** The program and its arguments without quotes. Assignments before the program and redirections are left out. */
  readonly words: ReadonlyArray<string>
  /** Whether status 0 of the line means that this command ran and ended with status 0. */
  readonly proven: boolean
  /** Whether the end of its output is unchanged: any pipe after it leads through `tail`, `tee` and `cat` only. */
  readonly shown: boolean
}

/**
 * Returns the commands of a line in order, or none if it cannot be parsed.
 *
 * Commands in substitutions, in function bodies and after `!` are left out.
 */
export const commandsOf = (line: string): ReadonlyArray<ShellCommand> => {
  // Several functions read the same line in turn.
  if (latest?.line !== line) latest = { line, commands: read(line) }
  return latest.commands
}

let latest: { readonly line: string; readonly commands: ReadonlyArray<ShellCommand> } | undefined

const read = (line: string): ReadonlyArray<ShellCommand> => {
  if (!isReadable(line)) return []
  const script = parse(line)
  if (script.errors !== undefined) return []
  const steps: Array<Step> = []
  for (const statement of script.commands) addSteps(statement.command, steps)
  return describe(steps, script.commands)
}

/** Code units. A line of commands only takes about 400 bytes of memory for each. */
const LENGTH_MAX = 262_144
/** `unbash` needs quadratic time for many here-documents of one line. */
const DOCUMENTS_MAX = 1000
/** `unbash` reads a substitution again for each one around it, up to 256. */
const DEPTH_MAX = 32

/** Whether the parser reads the line in linear time. Quotes are ignored, so that this counts more than there is. */
const isReadable = (line: string): boolean => {
  if (line.length > LENGTH_MAX) return false
  let documents = 0
  let depth = 0
  for (const { 0: found } of line.matchAll(/<<|[$<>][({]|[)}]/gu)) {
    if (found === "<<") documents++
    else if (found === ")" || found === "}") depth = Math.max(0, depth - 1)
    else depth++
    if (documents > DOCUMENTS_MAX || depth > DEPTH_MAX) return false
  }
  return true
}

/** A simple command. Others (`[[ a ]]`, function definitions) have no words. */
interface Step {
  readonly words: ReadonlyArray<string>
  /** Whether it is part of a compound command, or negated. */
  readonly isCompound: boolean
  /** Whether a pipe follows. */
  isPiped: boolean
}

const addSteps = (node: Statement["command"], steps: Array<Step>, isCompound = false): void => {
  if (node.type === "AndOr") {
    for (const command of node.commands) addPipeline(command, steps, isCompound)
  } else addPipeline(node, steps, isCompound)
}

const addPipeline = (node: PipelineNode, steps: Array<Step>, isCompound: boolean): void => {
  if (node.type !== "Pipeline") return addCommand(node, steps, isCompound)
  const isNegated = node.prefixes.some(({ type }) => type === "Negation")
  for (const [at, command] of node.commands.entries()) {
    if (isNegated) steps.push({ words: [], isCompound: true, isPiped: false })
    else addCommand(command, steps, isCompound)
    const last = steps.at(-1)
    if (last !== undefined && at < node.commands.length - 1) last.isPiped = true
  }
}

const addCommand = (node: CommandNode, steps: Array<Step>, isCompound: boolean): void => {
  switch (node.type) {
    case "Command":
      steps.push({ words: wordsOf(node), isCompound, isPiped: false })
      return
    case "Redirected":
      return addCommand(node.command, steps, isCompound)
    case "TestCommand":
    case "ArithmeticCommand":
      steps.push({ words: [], isCompound, isPiped: false })
      return
    case "Function":
    case "Coproc":
      steps.push({ words: [], isCompound: true, isPiped: false })
      return
    default:
      for (const { command } of bodyOf(node)) addSteps(command, steps, true)
  }
}

/** The statements of a compound command in the order of the text. */
const bodyOf = (
  node: Exclude<
    CommandNode,
    { readonly type: "Command" | "Redirected" | "TestCommand" | "ArithmeticCommand" | "Function" | "Coproc" }
  >
): ReadonlyArray<Statement> => {
  switch (node.type) {
    case "If":
      return [
        ...node.clause.commands,
        ...node.then.commands,
        ...node.elif.flatMap(({ clause, then }) => [...clause.commands, ...then.commands]),
        ...(node.else?.commands ?? [])
      ]
    case "While":
      return [...node.clause.commands, ...node.body.commands]
    case "Case":
      return node.items.flatMap(({ body }) => body.commands)
    default:
      return node.body.commands
  }
}

const wordsOf = ({ args, name }: Extract<CommandNode, { readonly type: "Command" }>): ReadonlyArray<string> => {
  if (name === undefined) return []
  return [wordOf(name), ...args.map((arg) => (arg.type === "Word" ? wordOf(arg) : arg.text))]
}

/** A word without its quotes. A substitution is shortened to its first character. */
const wordOf = (word: Word): string => word.parts?.map(partOf).join("") ?? word.value

const partOf = (part: WordPart): string => {
  switch (part.type) {
    case "Literal":
    case "Glob":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return part.value
    case "DoubleQuoted":
    case "LocaleString":
      return part.parts.map(partOf).join("")
    case "CommandExpansion":
    case "ArithmeticExpansion":
    case "ProcessSubstitution":
      return part.text.slice(0, 1)
    default:
      return part.text
  }
}

const describe = (steps: ReadonlyArray<Step>, statements: ReadonlyArray<Statement>): ReadonlyArray<ShellCommand> => {
  const isSimple = !steps.some(({ isCompound }) => isCompound)
  // Only the last statement decides the status, and `||` leaves open what ran of it.
  const last = statements.at(-1)
  const isPlain =
    isSimple && last?.background !== true && !(last?.command.type === "AndOr" && last.command.operators.includes("||"))
  const from = steps.length - (last === undefined ? 0 : stepCount(last.command))
  const leaving = steps.findIndex(({ words }) => mayLeave(words))
  const isCut = steps.map(({ isPiped }, at) => isPiped && !showsEnd(steps[at + 1]?.words ?? []))
  // A pipe after a compound command follows each command in it.
  const isAnyCut = isCut.includes(true)
  for (let at = steps.length - 2; at >= 0; at--) {
    if (steps[at]?.isPiped === true) isCut[at] ||= isCut[at + 1] === true
  }
  return steps.flatMap(({ isPiped, words }, at): ReadonlyArray<ShellCommand> => {
    if (words.length === 0) return []
    const proven = isPlain && at >= from && !isPiped && (leaving < 0 || at <= leaving)
    return [{ words, proven, shown: isSimple ? isCut[at] === false : !isAnyCut }]
  })
}

/** How many steps a statement of simple commands has. */
const stepCount = (node: Statement["command"]): number => {
  if (node.type === "AndOr") return node.commands.reduce((sum, command) => sum + stepCount(command), 0)
  return node.type === "Pipeline" ? node.commands.length : 1
}

/** Whether the line can end well without running what follows: the shell exits, or is set to run nothing. */
const mayLeave = (words: ReadonlyArray<string>): boolean => {
  const at = words.findIndex((word) => !/^(?:command|builtin|time|-\w+)$/u.test(word))
  const word = words[at] ?? ""
  if (word === "set") return words.some((flag) => /^-[a-z]*n|^noexec$/u.test(flag))
  return LEAVING.has(word) || /^[$`][^/]*$/u.test(word)
}

/** `eval` and `trap` run their words, `exec` replaces the shell. */
const LEAVING = new Set(["exit", "return", "exec", "eval", "trap"])

/** Whether a command always prints the end of its input. */
const showsEnd = ([program, ...args]: ReadonlyArray<string>): boolean => {
  if (program === "tail") return args.every((arg) => /^[-+]|^\d+$/u.test(arg))
  return program === "tee" || (program === "cat" && args.every((arg) => arg.startsWith("-")))
}
