/** A table with a row of headings. */
import { type ComponentChildren, type JSX } from "preact"

export const Table = (props: {
  readonly heads: ReadonlyArray<string>
  readonly children: ComponentChildren
}): JSX.Element => (
  <table>
    <thead>
      <tr>
        {props.heads.map((head) => (
          <th key={head} scope="col">
            {head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{props.children}</tbody>
  </table>
)
