/** A labelled choice of one of several values. */
import { type JSX } from "preact"

export const Choice = <V extends string | number>(props: {
  readonly label: string
  readonly value: V
  readonly options: ReadonlyArray<readonly [value: V, name: string]>
  readonly onChange: (value: V) => void
}): JSX.Element => (
  <label>
    {props.label}{" "}
    <select
      value={props.value}
      onChange={(event) => {
        const [value] = props.options[event.currentTarget.selectedIndex] ?? []
        if (value !== undefined) props.onChange(value)
      }}
    >
      {props.options.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  </label>
)

/** Options whose names are their values. */
export const named = <V extends string>(values: ReadonlyArray<V>): ReadonlyArray<readonly [V, string]> =>
  values.map((value) => [value, value])

/** The value after `value`; the first after the last. */
export const nextOf = <V,>(values: readonly [V, ...ReadonlyArray<V>], value: V): V =>
  values[(values.indexOf(value) + 1) % values.length] ?? values[0]
