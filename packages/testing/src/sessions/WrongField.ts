/**
 * Lines of JSON with one wrong field: every field of every line with every value of a table.
 *
 * Cases are numbered, and neighbours are far apart: a few cases already touch all kinds of fields. All cases together
 * are each field with each value, once.
 */

/** A value in place of the right one, as JSON text. */
interface WrongValue {
  readonly name: string
  readonly json: string
}

const DEPTH = 10_000

/** Names that every plain object already has, and that a lookup by such a name would find. */
const INHERITED = [
  "__proto__",
  "constructor",
  "__defineGetter__",
  "hasOwnProperty",
  "toString",
  "valueOf",
  "prototype",
  "toJSON"
]

const PLAIN = ["null", "true", "false", "0", "-1", "1.5", "1e309", "-1e309", "9007199254740993", "8.64e15", "1e-400"]

const TEXTS = ['""', '" "', '"\\u0000"', '"\\ud800"', '"\\u00a0"', '"../../etc"', '"2026-13-45T99:00:00Z"', '"0x10"']

const ARRAYS = [
  "[]",
  "[null]",
  "[[]]",
  "[1]",
  '["text"]',
  "[{}]",
  '[{"type":"text"}]',
  '[{"type":"text","text":{"toString":1}}]'
]

const OBJECTS = [
  "{}",
  '{"toString":1}',
  '{"valueOf":1,"toString":2}',
  '{"toJSON":1}',
  '{"length":-1}',
  '{"then":1}',
  '{"a":1}',
  '{"__proto__":1}',
  '{"__proto__":{"type":"text","text":"x"}}',
  '{"constructor":{"prototype":1}}',
  '{"type":null}'
]

const VALUES: ReadonlyArray<WrongValue> = [
  ...[...PLAIN, ...TEXTS, ...INHERITED.map((name) => JSON.stringify(name)), ...ARRAYS, ...OBJECTS].map((json) => ({
    name: json,
    json
  })),
  { name: "a string of 200,000 characters", json: JSON.stringify("x y".repeat(66_667)) },
  { name: `${DEPTH} arrays in each other`, json: "[".repeat(DEPTH) + "]".repeat(DEPTH) },
  { name: `${DEPTH} objects in each other`, json: '{"a":'.repeat(DEPTH) + "1" + "}".repeat(DEPTH) },
  { name: "10,000 nulls", json: `[${"null,".repeat(9999)}null]` }
]

/** Members that are put into an object beside its own. */
const ADDED: ReadonlyArray<WrongValue> = INHERITED.map((key) => ({
  name: `with ${key}`,
  json: `${JSON.stringify(key)}:${key === "toString" ? "1" : '{"x":1}'}`
}))

type Path = ReadonlyArray<string | number>

/** What may become wrong: a value, or an object that gets another member. */
interface Place {
  readonly line: number
  readonly path: Path
  readonly kind: "value" | "object"
}

/** A case: which line and field, and what the lines are then. */
export interface WrongField {
  readonly name: string
  readonly lines: ReadonlyArray<string>
}

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null

const placesOf = (lines: ReadonlyArray<string>): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  lines.forEach((text, line) => {
    const walk = (value: unknown, path: Path): void => {
      if (path.length > 0) places.push({ line, path, kind: "value" })
      if (!isContainer(value)) return
      if (!Array.isArray(value)) places.push({ line, path, kind: "object" })
      for (const [key, member] of Object.entries(value))
        walk(member, [...path, Array.isArray(value) ? Number(key) : key])
    }
    walk(JSON.parse(text), [])
  })
  return places
}

const MARK = "\u0001the wrong value\u0001"
const MARKED = JSON.stringify(MARK)

/** The line with a mark in the place of a field. */
const marked = (text: string, path: Path): string => {
  const root: unknown = JSON.parse(text)
  let at: unknown = root
  for (const key of path.slice(0, -1)) at = isContainer(at) ? Reflect.get(at, key) : undefined
  const last = path.at(-1)
  if (isContainer(at) && last !== undefined) Reflect.set(at, last, MARK)
  return JSON.stringify(root)
}

const withMember = (text: string, path: Path, member: string): string => {
  const root: unknown = JSON.parse(text)
  let at: unknown = root
  for (const key of path) at = isContainer(at) ? Reflect.get(at, key) : undefined
  if (isContainer(at)) Reflect.set(at, MARK, 0)
  return JSON.stringify(root).replace(`${MARKED}:0`, () => member)
}

const withoutField = (text: string, path: Path): string => {
  const found = marked(text, path)
  const key = JSON.stringify(path.at(-1))
  for (const member of [`,${key}:${MARKED}`, `${key}:${MARKED},`, `${key}:${MARKED}`, `,${MARKED}`, `${MARKED},`]) {
    if (found.includes(member)) return found.replace(member, "")
  }
  return found.replace(MARKED, "")
}

const FORMS = VALUES.length + 2

/** The wrong forms of one field: it is missing, it is there twice, or it has another value. */
const wrongValue = (text: string, path: Path, form: number): { readonly name: string; readonly text: string } => {
  const value = VALUES[form]
  if (value !== undefined) return { name: value.name, text: marked(text, path).replace(MARKED, () => value.json) }
  const key = path.at(-1)
  if (form === VALUES.length || typeof key === "number") return { name: "missing", text: withoutField(text, path) }
  const twice = `[],${JSON.stringify(key)}:{"toString":1}`
  return { name: "there twice", text: marked(text, path).replace(MARKED, () => twice) }
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** All cases of a file. */
export interface WrongFields {
  readonly count: number
  /** The case of a number; numbers beyond `count` begin again. The lines may differ, not their fields. */
  readonly at: (number: number, lines?: ReadonlyArray<string>) => WrongField
}

/** The cases of lines of JSON. */
export const of = (template: ReadonlyArray<string>): WrongFields => {
  const places = placesOf(template)
  const choices = places.flatMap((place) =>
    Array.from({ length: place.kind === "value" ? FORMS : ADDED.length }, (_, form) => ({ place, form }))
  )
  const count = choices.length
  let stride = Math.floor(count * 0.618)
  while (gcd(stride, count) !== 1) stride++
  return {
    count,
    at: (number, lines = template) => {
      const choice = choices[Number((BigInt(number) * BigInt(stride)) % BigInt(count))]
      const text = choice === undefined ? undefined : lines[choice.place.line]
      if (choice === undefined || text === undefined) throw new Error(`there is no case ${number}`)
      const { line, path, kind } = choice.place
      const added = ADDED[choice.form]
      const wrong =
        kind === "object" && added !== undefined
          ? { name: added.name, text: withMember(text, path, added.json) }
          : wrongValue(text, path, choice.form)
      const name = `line ${line + 1}, ${["$", ...path].join(".")}: ${wrong.name}`
      return { name, lines: lines.with(line, wrong.text) }
    }
  }
}
