/** Matches tool results with calls in constant time. */

interface Call {
  /** As recorded; may be empty. */
  readonly id: string
  readonly name: string
}

/** The calls of one answer. Each is taken once, in order. */
export class OpenCalls<A extends Call> {
  readonly #queues = new Map<string, { readonly calls: Array<A>; next: number }>()
  readonly #taken = new Set<A>()

  constructor(calls: ReadonlyArray<A>) {
    for (const call of calls) {
      // A result without an id matches by name; without a name too, it matches any call without an id.
      const keys = call.id === "" ? new Set([keyOf("", call.name), keyOf("", "")]) : [keyOf(call.id, call.name)]
      for (const key of keys) {
        const queue = this.#queues.get(key)
        if (queue === undefined) this.#queues.set(key, { calls: [call], next: 0 })
        else queue.calls.push(call)
      }
    }
  }

  /** Whether a result answers one of the calls, open or not. */
  has(id: string, name: string): boolean {
    return this.#queues.has(keyOf(id, name))
  }

  /** Takes the first open call that a result answers. */
  take(id: string, name: string): A | undefined {
    const queue = this.#queues.get(keyOf(id, name))
    if (queue === undefined) return undefined
    for (;;) {
      const call = queue.calls[queue.next]
      if (call === undefined) return undefined
      queue.next++
      if (this.#taken.has(call)) continue
      this.#taken.add(call)
      return call
    }
  }
}

const keyOf = (id: string, name: string): string => (id === "" ? `name:${name}` : `id:${id}`)
