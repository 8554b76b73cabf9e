/** Runs `verify`, `checkpoint` or `stat` on every store that the arguments name. */
import * as Effect from "effect/Effect"
import { CommandFailed } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { type FoundStore, type Skipped, stores } from "./StoreSearch.ts"
import { type Failure, attempt } from "./StoreServices.ts"

/** The result for one store. */
export interface Done<A> {
  readonly store: FoundStore
  readonly value: A
}

export interface Run<A> {
  readonly done: ReadonlyArray<Done<A>>
  readonly failed: ReadonlyArray<{ readonly store: FoundStore; readonly failure: Failure }>
  readonly skipped: ReadonlyArray<Skipped>
}

/** Works on one store after another. Failures are printed on stderr, and the work goes on. */
export const overStores = Effect.fnUntraced(function* <
  A,
  E extends { readonly _tag: string; readonly message: string },
  R
>(
  paths: ReadonlyArray<string>,
  work: (store: FoundStore) => Effect.Effect<A, E, R>,
  options: { readonly retired?: boolean } = {}
) {
  const invocation = yield* Invocation
  const found = yield* stores(paths.map(invocation.resolve), options)
  const done: Array<Done<A>> = []
  const failed: Array<{ readonly store: FoundStore; readonly failure: Failure }> = []
  for (const [i, store] of found.stores.entries()) {
    yield* invocation.progress(`${i + 1} of ${found.stores.length}: ${store.container}`)
    const result = yield* attempt(work(store))
    if (result._tag === "Success") done.push({ store, value: result.success })
    else failed.push({ store, failure: result.failure })
  }
  yield* invocation.progress("")
  for (const { path, reason } of found.skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
  for (const { failure } of failed) yield* invocation.note(`warning: ${failure.message}`)
  return { done, failed, skipped: found.skipped } satisfies Run<A>
})

/** The JSON document of a run. */
export const document = <A>(run: Run<A>, ofValue: (value: A) => object): string =>
  JSON.stringify(
    {
      stores: run.done.map(({ store, value }) => ({ store: store.container, ...ofValue(value) })),
      failed: run.failed.map(({ store, failure }) => ({ store: store.container, ...failure })),
      skipped: run.skipped
    },
    null,
    2
  )

/** Fails if the work failed for a store. */
export const mustBeDone = <A>({ done, failed, skipped }: Run<A>, what: string): Effect.Effect<void, CommandFailed> => {
  const all = done.length + failed.length + skipped.length
  return done.length === all
    ? Effect.void
    : Effect.fail(new CommandFailed({ text: `only ${done.length} of ${all} ${what}` }))
}
