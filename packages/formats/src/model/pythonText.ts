/** Text of template values as Python writes it: `str`, `repr`, `strip` and `capitalize`. */

/** A value of the template library. */
export interface Value {
  readonly type: string
  readonly value: unknown
}

/** Python's `str(value)`. */
export const pythonText = (value: Value): string =>
  value.type === "StringValue" ? String(value.value) : pythonRepr(value)

/** Python's `repr(value)`. An undefined value is empty, as in Jinja2. */
const pythonRepr = ({ type, value }: Value): string => {
  switch (type) {
    case "UndefinedValue":
      return ""
    case "NullValue":
      return "None"
    case "BooleanValue":
      return value === true ? "True" : "False"
    case "FloatValue":
      return floatText(Number(value))
    case "StringValue":
      return quoted(String(value))
    case "ArrayValue":
      return `[${(value as Array<Value>).map(pythonRepr).join(", ")}]`
    case "TupleValue": {
      const items = (value as Array<Value>).map(pythonRepr)
      return `(${items.join(", ")}${items.length === 1 ? "," : ""})`
    }
    case "ObjectValue": {
      const members = Array.from(value as Map<string, Value>, ([key, item]) => `${quoted(key)}: ${pythonRepr(item)}`)
      return `{${members.join(", ")}}`
    }
    default:
      return String(value)
  }
}

/** Python writes an exponent below 1e-4 and from 1e16 on, with two digits or more. */
const floatText = (value: number): string => {
  const [digits = "", exponent = "0"] = value.toExponential().split("e")
  const power = Number(exponent)
  if (power < -4 || power >= 16) return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`
  return Number.isInteger(value) ? value.toFixed(1) : String(value)
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"]
])

/** A string as Python prints it within a list: with escapes for what is not printable. */
const quoted = (value: string): string => {
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'"
  const escaped = value.replace(/[\\']|(?! )[\p{C}\p{Z}]/gu, (character) => {
    if (character === "'") return quote === "'" ? "\\'" : "'"
    const known = ESCAPES.get(character)
    if (known !== undefined) return known
    const code = character.codePointAt(0) ?? 0
    const hex = code.toString(16)
    if (code < 0x100) return `\\x${hex.padStart(2, "0")}`
    return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`
  })
  return quote + escaped + quote
}

export type Strip = "strip" | "lstrip" | "rstrip"
export const isStrip = (name: string): name is Strip => name === "strip" || name === "lstrip" || name === "rstrip"

/** What Python's `str.isspace` accepts: also the separators U+001C to U+001F and U+0085, but not U+FEFF. */
const PYTHON_SPACE = new Set(
  "\t\n\v\f\r\u001c\u001d\u001e\u001f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

/** Python's `strip`, `lstrip` and `rstrip`: removes the given characters; by default white space. */
export const strip = (value: string, side: Strip, characters?: string): string => {
  const removed = characters === undefined ? PYTHON_SPACE : new Set(characters)
  const all = Array.from(value)
  let start = 0
  let end = all.length
  if (side !== "rstrip") while (start < end && removed.has(all[start] ?? "")) start++
  if (side !== "lstrip") while (end > start && removed.has(all[end - 1] ?? "")) end--
  return start === 0 && end === all.length ? value : all.slice(start, end).join("")
}

/** The first character in upper case, the others in lower case. */
export const capitalize = (value: string): string => {
  const [first = "", ...rest] = value
  return first.toUpperCase() + rest.join("").toLowerCase()
}
