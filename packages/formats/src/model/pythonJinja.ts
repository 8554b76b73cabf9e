/**
 * Runs Jinja templates as Python's Jinja2 does. The library @huggingface/jinja differs in the white space that `trim` and
 * `strip` remove, in arguments of `strip`, in characters of strings (UTF-16 code units instead of code points), and in how
 * values that are not strings become text.
 */
import { type Value, capitalize, isStrip, pythonText, strip } from "./pythonText.ts"

/** The parts of the library that are used. Its own declarations of them cannot be resolved by Node's rules. */
export interface Library {
  readonly Environment: new () => Environment
  readonly Interpreter: new (environment: Environment) => Interpreter
  readonly parse: (tokens: unknown) => Node
  readonly tokenize: (source: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }) => unknown
}

interface Interpreter {
  run(program: Node): Value
  evaluate(statement: Node | undefined, environment: Environment): Value
}

interface Environment {
  set(name: string, value: unknown): Value
}

interface TextValue extends Value {
  readonly value: string
}

/** A node of the syntax tree. Its members depend on its type. */
interface Node {
  readonly type: string
  readonly [member: string]: unknown
}

export interface Template {
  /**
   * Throws the template's errors. `isLenient`: a member of an undefined value is undefined, where Python fails; for
   * conversations without messages, which templates rarely expect.
   */
  readonly render: (variables: { readonly [name: string]: unknown }, isLenient?: boolean) => string
}

/** Returns a compiler of template sources. It throws if a source is not a template. */
export const make = (library: Library): ((source: string) => Template) => {
  const { Environment, parse, tokenize } = library
  const PythonInterpreter = interpreterOf(library)
  return (source) => {
    // Jinja2 reads CR and CRLF as line ends.
    const tokens = tokenize(source.replace(/\r\n?/gu, "\n"), { lstrip_blocks: true, trim_blocks: true })
    const program = parse(tokens)
    markOutputs(program)
    return {
      render: (variables, isLenient = false) => {
        const environment = new Environment()
        const all = { ...GLOBALS, ...variables }
        for (const [name, value] of Object.entries(all)) environment.set(name, value)
        const interpreter = new PythonInterpreter(environment)
        interpreter.isLenient = isLenient
        return String(interpreter.run(program).value)
      }
    }
  }
}

const GLOBALS = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception: (message: unknown): never => {
    throw new Error(String(message))
  },
  range: (first: number, end?: number, step = 1): ReadonlyArray<number> => {
    const [from, to] = end === undefined ? [0, first] : [first, end]
    const length = Math.max(0, Math.ceil((to - from) / step))
    return Array.from({ length }, (_, at) => from + at * step)
  }
}

/** Statements that are not output. Text of the template is a string literal. */
const STATEMENTS = new Set([
  "Program",
  "If",
  "For",
  "Break",
  "Continue",
  "Set",
  "Macro",
  "Comment",
  "CallStatement",
  "FilterStatement",
  "StringLiteral"
])

/** The type of nodes that print a value, which the library does not distinguish from other expressions. */
const OUTPUT = "Output"
/** The type of nodes that are values already. */
const VALUE = "Value"

/** Replaces each printed expression by an output node. */
const markOutputs = (node: object): void => {
  const block: { body?: Array<Node>; alternate?: Array<Node>; defaultBlock?: Array<Node> } = node
  for (const statements of [block.body, block.alternate, block.defaultBlock]) {
    for (const [at, statement] of statements?.entries() ?? []) {
      if (STATEMENTS.has(statement.type)) markOutputs(statement)
      else if (statements !== undefined) statements[at] = { type: OUTPUT, expression: statement }
    }
  }
}

/** Filters that convert their operand to text. */
const TEXT_FILTERS = new Set(["capitalize", "indent", "lower", "replace", "string", "title", "trim", "upper"])
/** Filters that iterate over their operand. */
const LIST_FILTERS = new Set(["first", "join", "last", "list", "map", "reject", "select", "unique"])

interface Values {
  readonly text: (value: string) => Value
  readonly list: (values: ReadonlyArray<Value>) => Value
  readonly isText: (value: Value) => value is TextValue
  /** The code points of a string. */
  readonly characters: (value: string) => Value
}

interface Rules extends Values {
  readonly isLenient: boolean
}

/** The library exports no value classes, so they are taken from values. */
const valuesOf = (Scope: Library["Environment"]): Values => {
  const scope = new Scope()
  const Text = scope.set("text", "").constructor
  const List = scope.set("list", []).constructor
  const text = (value: string): Value => Reflect.construct(Text, [value])
  const list = (values: ReadonlyArray<Value>): Value => Reflect.construct(List, [values])
  const isText = (value: Value): value is TextValue => value instanceof Text
  return { text, list, isText, characters: (value: string) => list(Array.from(value, text)) }
}

const interpreterOf = ({ Environment, Interpreter }: Library) => {
  const values = valuesOf(Environment)
  const [strict, lenient]: readonly [Rules, Rules] = [
    { ...values, isLenient: false },
    { ...values, isLenient: true }
  ]
  return class PythonInterpreter extends Interpreter {
    isLenient = false
    /** The library's signal for each loop that was left, by its statements. */
    readonly #left = new WeakMap<ReadonlyArray<Node>, unknown>()

    override evaluate(statement: Node | undefined, environment: Environment): Value {
      const rule = statement === undefined ? undefined : RULES.get(statement.type)
      if (statement === undefined || rule === undefined) return super.evaluate(statement, environment)
      const result = rule(statement, (node) => this.evaluate(node, environment), this.isLenient ? lenient : strict)
      if (!("node" in result)) return result
      if (statement.type !== "Break" && statement.type !== "Continue") return super.evaluate(result.node, environment)
      try {
        return super.evaluate(statement, environment)
      } catch (signal) {
        throw new LoopControl(statement.type, signal)
      }
    }

    /** Called by the library. Unlike the library's own, keeps what a loop printed before `break` or `continue`. */
    evaluateBlock(statements: ReadonlyArray<Node>, environment: Environment): Value {
      if (this.#left.has(statements)) throw this.#left.get(statements)
      let printed = ""
      for (const statement of statements) {
        try {
          const value = this.evaluate(statement, environment)
          if (value.type !== "NullValue" && value.type !== "UndefinedValue") printed += String(value.value)
        } catch (error) {
          if (!(error instanceof LoopControl)) throw error
          error.printed = printed + error.printed
          if (!isLoopBody(statements)) throw error
          if (error.type === "Break") this.#left.set(statements, error.signal)
          return values.text(error.printed)
        }
      }
      return values.text(printed)
    }
  }
}

class LoopControl extends Error {
  readonly type: "Break" | "Continue"
  /** The library's error. */
  readonly signal: unknown
  /** The text before it in its blocks. */
  printed = ""

  constructor(type: "Break" | "Continue", signal: unknown) {
    super(type)
    this.type = type
    this.signal = signal
  }
}

/** The statements of one run of a loop. */
class LoopBody extends Array<Node> {}
const isLoopBody = (statements: ReadonlyArray<Node>): boolean => statements instanceof LoopBody

/** Evaluates a node as Python does, or returns a node that the library evaluates so. */
type Rule = (node: Node, evaluate: (node: Node) => Value, values: Rules) => Value | { readonly node: Node }

const at = (node: Node, member: string): Node => node[member] as Node
const known = (value: Value): Node => ({ type: VALUE, value })

/** The first argument of a call as text; undefined if there is none, or `None`. */
const textArgument = (call: Node, evaluate: (node: Node) => Value, { isText }: Values): string | undefined => {
  const [argument] = (call["args"] as ReadonlyArray<Node> | undefined) ?? []
  const value = argument === undefined ? undefined : evaluate(argument)
  return value !== undefined && isText(value) ? value.value : undefined
}

const filter: Rule = (node, evaluate, values) => {
  const { characters, isText, list, text } = values
  const called = at(node, "filter")
  const name = (called.type === "CallExpression" ? at(called, "callee") : called)["value"] as string
  const operand = evaluate(at(node, "operand"))
  const on = (value: Value) => ({ node: { ...node, operand: known(value) } })
  if (name === "trim") return text(strip(pythonText(operand), "strip", textArgument(called, evaluate, values)))
  if (name === "capitalize") return text(capitalize(pythonText(operand)))
  if (TEXT_FILTERS.has(name)) return on(isText(operand) ? operand : text(pythonText(operand)))
  if (!isText(operand)) return on(operand)
  if (name === "length" || name === "count") return on(characters(operand.value))
  // Characters have no attributes.
  if (name === "selectattr") return list([])
  if (name === "rejectattr") return characters(operand.value)
  return on(LIST_FILTERS.has(name) ? characters(operand.value) : operand)
}

const call: Rule = (node, evaluate, values) => {
  const { isText, text } = values
  const callee = at(node, "callee")
  if (callee.type !== "MemberExpression" || callee["computed"] === true) return { node }
  const value = evaluate(at(callee, "object"))
  const name = at(callee, "property")["value"] as string
  if (isText(value) && isStrip(name)) return text(strip(value.value, name, textArgument(node, evaluate, values)))
  if (isText(value) && name === "capitalize") return text(capitalize(value.value))
  return { node: { ...node, callee: { ...callee, object: known(value) } } }
}

const member: Rule = (node, evaluate, { characters, isLenient, isText }) => {
  const value = evaluate(at(node, "object"))
  if (value.type === "UndefinedValue" && !isLenient) throw new Error("a member of an undefined value")
  const isIndex = node["computed"] === true && at(node, "property").type !== "SliceExpression"
  return { node: { ...node, object: known(isText(value) && isIndex ? characters(value.value) : value) } }
}

const binary: Rule = (node, evaluate, { isText, text }) => {
  const { value: operator } = node["operator"] as { readonly value: string }
  if (operator !== "~" && operator !== "+") return { node }
  const left = evaluate(at(node, "left"))
  const right = evaluate(at(node, "right"))
  if (operator === "~") return text(pythonText(left) + pythonText(right))
  if (isText(left) !== isText(right)) throw new Error("can only concatenate text to text")
  return { node: { ...node, left: known(left), right: known(right) } }
}

const iterable = (node: Node, evaluate: (node: Node) => Value, values: Values): Node => {
  if (node.type === "SelectExpression") return { ...node, lhs: iterable(at(node, "lhs"), evaluate, values) }
  const value = evaluate(node)
  return known(values.isText(value) ? values.characters(value.value) : value)
}

const loop: Rule = (node, evaluate, values) => ({
  node: {
    ...node,
    iterable: iterable(at(node, "iterable"), evaluate, values),
    body: LoopBody.from(node["body"] as ReadonlyArray<Node>)
  }
})

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [VALUE, (node) => node["value"] as Value],
  [OUTPUT, (node, evaluate, { text }) => text(pythonText(evaluate(at(node, "expression"))))],
  ["FilterExpression", filter],
  ["CallExpression", call],
  ["MemberExpression", member],
  ["BinaryExpression", binary],
  ["For", loop],
  ["Break", (node) => ({ node })],
  ["Continue", (node) => ({ node })]
])
