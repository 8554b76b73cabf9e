/** Every way to break a JSON value at one place. */
type Path = ReadonlyArray<string | number>

export interface Mutation {
  readonly kind: "missing" | "wrong type" | "unknown member" | "wrong value"
  /** As in `/head/entry_id`. */
  readonly path: string
  readonly value: unknown
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A copy with the member at `path` replaced by `change`, or removed when that returns undefined. */
const changed = (value: unknown, path: Path, change: (there: unknown) => unknown): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return change(value)
  if (Array.isArray(value)) return value.map((item: unknown, at) => (at === key ? changed(item, rest, change) : item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const next = name === key ? changed(member, rest, change) : member
      return next === undefined ? [] : [[name, next]]
    })
  )
}

const pathsOf = (value: unknown, at: Path = []): ReadonlyArray<Path> => [
  at,
  ...(Array.isArray(value)
    ? // One element stands for all.
      value.slice(0, 1).flatMap((item: unknown) => pathsOf(item, [...at, 0]))
    : isObject(value)
      ? Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...at, name]))
      : [])
]

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

const WRONG: ReadonlyArray<unknown> = [{ wrong: 1 }, [1], true, null, "wrong", 1.5, -1, 2 ** 53]

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, key) => (inner === null || inner === undefined ? undefined : Reflect.get(Object(inner), key)),
    value
  )

/** All mutations of a value. Some are valid: a number may replace null. */
export const of = (value: unknown): ReadonlyArray<Mutation> =>
  pathsOf(value).flatMap((path) => {
    const there = at(value, path)
    const name = `/${path.join("/")}`
    const member = path.length > 0 && typeof path.at(-1) === "string"
    return [
      ...(member ? [{ kind: "missing" as const, path: name, value: changed(value, path, () => undefined) }] : []),
      ...WRONG.map((wrong) => ({
        kind: typeOf(wrong) === typeOf(there) ? ("wrong value" as const) : ("wrong type" as const),
        path: name,
        value: changed(value, path, () => wrong)
      })),
      ...(isObject(there)
        ? [
            {
              kind: "unknown member" as const,
              path: name,
              value: changed(value, path, (object) => ({ unheard_of: 1, ...Object(object) }))
            }
          ]
        : []),
      ...(typeof there === "string" && there.includes("pi.session_store_v2")
        ? ["v2", "v10", "v1 "].map((version) => ({
            kind: "wrong value" as const,
            path: name,
            value: changed(value, path, () => there.replace(/v1$/, version))
          }))
        : [])
    ]
  })
