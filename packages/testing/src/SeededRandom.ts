/**
 * Random choices that a seed repeats exactly (mulberry32), on every machine.
 *
 * For tests and generated files only: 32 bits of state.
 */

/** A source of repeatable choices. Each call moves it on. */
export interface SeededRandom {
  /** A number from 0 up to, not including, 1. */
  readonly next: () => number
  /** A whole number from 0 up to, not including, `below`. */
  readonly int: (below: number) => number
  /** True about that share of the times. */
  readonly chance: (probability: number) => boolean
  /** One of the values. */
  readonly pick: <A extends {}>(values: readonly [A, ...ReadonlyArray<A>]) => A
  /** One of the values, each as likely as its weight among all. */
  readonly weighted: <A extends {}>(
    first: readonly [weight: number, value: A],
    ...others: ReadonlyArray<readonly [weight: number, value: A]>
  ) => A
}

/** Makes a source from a seed. */
export const make = (seed: number): SeededRandom => {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (below: number): number => Math.floor(next() * below)
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (values) => values[int(values.length)] ?? values[0],
    weighted: (first, ...others) => {
      let left = next() * others.reduce((sum, [weight]) => sum + weight, first[0]) - first[0]
      for (const [weight, value] of others) {
        if (left < 0) break
        if (left < weight) return value
        left -= weight
      }
      return first[1]
    }
  }
}
