/** Which outcomes to try together: all of them when they are few, else those that find bugs, and random ones. */
import type { SeededRandom } from "../../SeededRandom.ts"
import type { Undecided } from "./crashOutcome.ts"

/** For each undecided operation, the number of its outcome: 0 is lost, 1 is done. */
export type Choice = Uint16Array

// More combinations than these are not numbered, whatever the limit.
const combinationsAtMost = 200_000

const fill = (count: number, value: 0 | 1): Choice => new Uint16Array(count).fill(value)

const decode = (items: ReadonlyArray<Undecided>, number: number): Choice => {
  let rest = number
  return Uint16Array.from(items, ({ outcomes }) => {
    const outcome = rest % outcomes.length
    rest = Math.floor(rest / outcomes.length)
    return outcome
  })
}

const shuffle = <A>(values: Array<A>, random: SeededRandom): Array<A> => {
  for (let at = values.length - 1; at > 0; at--) {
    const other = random.int(at + 1)
    const [a, b] = [values[at], values[other]]
    if (a !== undefined && b !== undefined) [values[at], values[other]] = [b, a]
  }
  return values
}

/** Choices that differ from a plain one in little. They are functions, because most are never taken. */
const families = (items: ReadonlyArray<Undecided>): Array<() => Choice> => {
  const { length } = items
  const numbers = new Map(items.map(({ sequence }, index) => [sequence, index]))
  const changed = (value: 0 | 1, at: number, outcome: number) => () => {
    const choice = fill(length, value)
    choice[at] = outcome
    return choice
  }
  const keepWithNeeds = (at: number) => () => {
    const choice = fill(length, 0)
    choice[at] = 1
    for (let index = at; index >= 0; index--) {
      if (choice[index] === 0) continue
      for (const need of items[index]?.entry?.needs ?? []) choice[numbers.get(need) ?? index] = 1
    }
    return choice
  }
  // Names first: without a file's name, its bytes are unreachable.
  const names = () => Uint16Array.from(items, ({ entry }) => (entry === undefined ? 0 : 1))
  const found: Array<() => Choice> = [names, () => names().map((name) => 1 - name)]
  for (const [at, { outcomes, entry, inode }] of items.entries()) {
    found.push(changed(1, at, 0), keepWithNeeds(at))
    found.push(() => fill(length, 0).fill(1, 0, at + 1))
    if (entry !== undefined) continue
    found.push(() => Uint16Array.from(items, (item) => (item.inode === inode ? 0 : 1)))
    for (let outcome = 0; outcome < outcomes.length; outcome++) {
      found.push(changed(1, at, outcome))
      found.push(() => {
        const choice = names()
        choice[at] = outcome
        return choice
      })
      found.push(() => {
        const choice = fill(length, 0).fill(1, 0, at + 1)
        choice[at] = outcome
        return choice
      })
    }
  }
  return found
}

const randomChoice = (items: ReadonlyArray<Undecided>, random: SeededRandom): Choice => {
  const names = random.pick([0.2, 0.5, 0.8, 1])
  const contents = random.pick([0.1, 0.4, 0.7, 0.9])
  const parts = random.pick([0, 0.1, 0.5])
  return Uint16Array.from(items, ({ entry, outcomes }) => {
    if (outcomes.length > 2 && random.chance(parts)) return 2 + random.int(outcomes.length - 2)
    return random.chance(entry === undefined ? contents : names) ? 1 : 0
  })
}

/**
 * Choices to try, without end when they are not all: first nothing done and all done, then the others in random order,
 * so that any number of them is a fair sample.
 */
export function* choices(items: ReadonlyArray<Undecided>, limit: number, random: SeededRandom): Generator<Choice> {
  yield fill(items.length, 0)
  yield fill(items.length, 1)
  const total = items.reduce((product, { outcomes }) => product * outcomes.length, 1)
  if (total <= Math.min(Math.max(64, 2 * limit), combinationsAtMost)) {
    const numbers = shuffle(
      Array.from({ length: total }, (_, number) => number),
      random
    )
    for (const number of numbers) yield decode(items, number)
    return
  }
  for (const make of shuffle(families(items), random)) yield make()
  for (;;) yield randomChoice(items, random)
}
