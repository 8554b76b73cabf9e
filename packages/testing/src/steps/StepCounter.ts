/**
 * Counts the steps of any code, the same on every machine and at every load.
 *
 * A step is the execution of one basic block of JavaScript (V8's precise coverage counts them), one instruction of a
 * backtracking matcher for each regular expression, or one character that a native function reads. Not counted: copies of
 * arrays by spread, garbage collection and WebAssembly.
 */
import { Session } from "node:inspector"
import { matchSteps } from "./RegExpSteps.ts"

export class StepCounter {
  readonly #session = new Session()
  #native = 0

  /** Begins to count. Import the code to be counted only after this: V8 counts in functions that it compiles from now on. */
  constructor() {
    // Functions compiled before are not counted, and faster: the matcher of this module should be.
    for (const expression of EVERY_INSTRUCTION) matchSteps(expression, "aab\n", 1)
    this.#session.connect()
    this.#session.post("Profiler.enable")
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  }

  /** The steps of regular expressions and native functions while `work` runs. `name` is part of the error if it fails. */
  async countNative(work: () => unknown, name = "work"): Promise<number> {
    this.#native = 0
    const restore = this.#patched()
    try {
      await work()
    } catch (cause) {
      throw new Error(`${name}: ${String(cause)}`, { cause })
    } finally {
      restore()
    }
    return this.#native
  }

  /** The executed blocks of JavaScript since the last call. */
  takeBlocks(): number {
    let blocks = 0
    this.#session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error
      for (const { functions, url } of result) {
        if (isCounted(url)) for (const { ranges } of functions) for (const { count } of ranges) blocks += count
      }
    })
    return blocks
  }

  [Symbol.dispose](): void {
    this.#session.disconnect()
  }

  /** Replaces native functions by counting ones. Returns what puts them back. */
  #patched(): () => void {
    const restored: Array<() => void> = []
    const replace = (owner: object, name: string, counting: (native: Native, call: Call) => unknown): void => {
      const property = Reflect.getOwnPropertyDescriptor(owner, name)
      const native: unknown = property?.value
      if (property === undefined || !isFunction(native)) return
      const value = function (this: unknown, ...args: ReadonlyArray<unknown>): unknown {
        return counting(native, { self: this, args })
      }
      Object.defineProperty(owner, name, { ...property, value })
      restored.push(() => Object.defineProperty(owner, name, property))
    }
    for (const [owner, names, cost] of NATIVE) {
      for (const name of names) {
        replace(owner, name, (native, call) => {
          const result = Reflect.apply(native, call.self, call.args)
          this.#native += 1 + cost(call, result)
          return result
        })
      }
    }
    replace(RegExp.prototype, "exec", (native, call) => this.#exec(native, call))
    return () => {
      for (const restore of restored) restore()
    }
  }

  /** Also compares the match with that of the counting matcher. */
  #exec(native: Native, { args, self }: Call): unknown {
    const text = String(args[0])
    if (!(self instanceof RegExp)) return Reflect.apply(native, self, args)
    const from = self.global || self.sticky ? self.lastIndex : 0
    const counted = from > text.length ? { steps: 1, match: undefined } : matchSteps(self, text, from)
    this.#native += counted.steps
    const result: unknown = Reflect.apply(native, self, [text])
    const match = isMatch(result) ? ([result.index, result.index + result[0].length] as const) : undefined
    if (match?.[0] !== counted.match?.[0] || match?.[1] !== counted.match?.[1]) {
      throw new Error(
        `${String(self)} matches ${String(match)}, not ${String(counted.match)}, from ${from} of ${JSON.stringify(text)}`
      )
    }
    return result
  }
}

const EVERY_INSTRUCTION = [/^(?:x|(a)*?\1(?<=(\w))(?!c)\b|(?:b{2,}|\B)+$)/imu, /(?<!a)(?<b>b)|[^a]/giy]

type Native = (...args: ReadonlyArray<unknown>) => unknown

interface Call {
  readonly self: unknown
  readonly args: ReadonlyArray<unknown>
}

const isFunction = (value: unknown): value is Native => typeof value === "function"

const isMatch = (value: unknown): value is RegExpExecArray => Array.isArray(value)

/** Scripts whose blocks count: all but the tests' own tools. */
const isCounted = (url: string): boolean =>
  !url.startsWith("node:") &&
  !/\/packages\/testing\/src\/|\/node_modules\/(?:\.pnpm\/)?(?:@?vite|@?vitest|effect|@effect|@eslint)/u.test(url)

const lengthOf = (value: unknown): number => {
  if (typeof value === "string" || Array.isArray(value)) return value.length
  return ArrayBuffer.isView(value) ? value.byteLength : 0
}

const whole = ({ self }: Call): number => lengthOf(self)

const toEnd = ({ args, self }: Call, result: unknown): number => {
  const from = Math.max(0, Number(args[1] ?? 0) || 0)
  return (typeof result === "number" && result >= 0 ? result : lengthOf(self)) - from
}

const fromEnd = ({ self }: Call, result: unknown): number =>
  lengthOf(self) - (typeof result === "number" ? Math.max(0, result) : 0)

const made = (_: Call, result: unknown): number => lengthOf(result)

const given = ({ args }: Call): number => lengthOf(args[0])

/** Functions whose work grows with the text, and how many characters or elements they read or write at most. */
const NATIVE: ReadonlyArray<
  readonly [owner: object, names: ReadonlyArray<string>, cost: (call: Call, result: unknown) => number]
> = [
  [String.prototype, ["indexOf"], toEnd],
  [String.prototype, ["lastIndexOf"], fromEnd],
  [String.prototype, ["includes", "toLowerCase", "toUpperCase", "normalize", "toWellFormed", "isWellFormed"], whole],
  [String.prototype, ["split", "replace", "replaceAll", "trim", "trimStart", "trimEnd", "localeCompare"], whole],
  [String.prototype, ["startsWith", "endsWith"], given],
  [String.prototype, ["repeat", "padEnd", "padStart"], made],
  [
    Array.prototype,
    ["indexOf", "includes", "shift", "unshift", "splice", "reverse", "sort", "toSorted", "toReversed"],
    whole
  ],
  [Array.prototype, ["slice", "concat", "join"], made],
  [Object.getPrototypeOf(Uint8Array.prototype), ["indexOf"], toEnd],
  [Object.getPrototypeOf(Uint8Array.prototype), ["includes", "fill", "sort", "reverse"], whole],
  [Object.getPrototypeOf(Uint8Array.prototype), ["slice", "set"], made],
  [Buffer.prototype, ["indexOf"], toEnd],
  [Buffer.prototype, ["includes", "equals", "compare", "lastIndexOf"], whole],
  [Buffer.prototype, ["toString", "latin1Slice", "utf8Slice"], made],
  [Buffer, ["from", "concat"], made],
  [TextDecoder.prototype, ["decode"], given],
  [TextEncoder.prototype, ["encode"], made],
  [JSON, ["parse"], given],
  [JSON, ["stringify"], made],
  [Object, ["keys", "values", "entries"], made]
]
