/** Lists of facts, and messages of problems. */
import { type JSX } from "preact"
import { Text } from "./Text.tsx"

/** Names with their values. */
export const Facts = (props: {
  readonly facts: ReadonlyArray<readonly [name: string, value: string]>
  readonly class?: string
}): JSX.Element => (
  <dl class={props.class}>
    {props.facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          <Text value={value} />
        </dd>
      </div>
    ))}
  </dl>
)

/** An alert is read aloud at once. Default of `isAlert`: false. */
export const Problem = ({
  isAlert = false,
  text
}: {
  readonly text: string
  readonly isAlert?: boolean
}): JSX.Element => (
  <p class="problem" {...(isAlert ? { role: "alert" as const } : {})}>
    <Text value={text} />
  </p>
)
