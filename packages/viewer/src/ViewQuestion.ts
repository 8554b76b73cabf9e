/**
 * The questions of the page: addresses below `api/`, with the types of their answers. The server answers them by the routes
 * of ViewApi.ts, a self-contained file by address. The page uses this module too.
 */
import * as EntryRanges from "./EntryRanges.ts"
import type * as ViewModel from "./ViewModel.ts"

export interface Question<A> {
  readonly address: string
  /** For the compiler only: the type of the answer. */
  readonly answer?: A
}

const ask = <A>(address: string): Question<A> => ({ address })

export const home = ask<ViewModel.Home>("home")

export const sessions = ask<ReadonlyArray<ViewModel.SessionRow>>("sessions")

export const summaries = (keys: ReadonlyArray<string>) =>
  ask<ReadonlyArray<ViewModel.SessionSummary>>(`summaries?keys=${keys.join(",")}`)

export const session = (key: string) => ask<ViewModel.SessionPage>(`sessions/${key}`)

/** The entries from the root to `leaf` that pass the filter. */
export const branch = (key: string, leaf: number, filter: ViewModel.EntryFilter) =>
  ask<ViewModel.Ranges>(`sessions/${key}/branch?leaf=${leaf}&filter=${filter}`)

/** Entries in file order; `whole` omits nothing. */
export const entries = (key: string, indexes: ReadonlyArray<number>, { whole = false } = {}) => {
  const at = EntryRanges.toText(EntryRanges.of(indexes.toSorted((a, b) => a - b)))
  return ask<ReadonlyArray<ViewModel.EntryRow>>(`sessions/${key}/entries?at=${at}${whole ? "&whole=1" : ""}`)
}

export interface TreeOptions {
  readonly filter: ViewModel.EntryFilter
  /** One row for each entry. */
  readonly all: boolean
}

export const tree = (key: string, options: TreeOptions, from: number, count: number) =>
  ask<ViewModel.TreePage>(`${inFile.tree(key, options).address}&from=${from}&count=${count}`)

/** `picture` is its number in the entry, from 0. */
export const picture = (key: string, entry: number, picture: number) =>
  ask<ViewModel.Picture>(`sessions/${key}/picture?entry=${entry}&picture=${picture}`)

/** The index of the entry with an id. */
export const find = (key: string, entryId: string) =>
  ask<number>(`sessions/${key}/find?id=${encodeURIComponent(entryId)}`)

/** The end of the branch to show an entry on. */
export const end = (key: string, entry: number, leaf: number) =>
  ask<number>(`sessions/${key}/end?entry=${entry}&leaf=${leaf}`)

export const samples = (key: string) => ask<ViewModel.SamplesPage>(`sessions/${key}/samples`)

export const health = (key: string) => ask<ViewModel.SessionHealth>(`sessions/${key}/health`)

/** In one session, or in all. */
export const search = (text: string, key?: string) =>
  ask<ViewModel.Hits>(`search?text=${encodeURIComponent(text)}${key === undefined ? "" : `&key=${key}`}`)

export const dataset = ask<ViewModel.DatasetPage>("dataset")

/** One line of a dataset's file. */
export const line = (file: string, from: number) =>
  ask<ViewModel.SampleLines>(`dataset/lines?file=${encodeURIComponent(file)}&from=${from}&count=1`)

export const marks = ask<ViewModel.Marks>("marks")

/** A self-contained file has these answers whole; the page takes pieces of them. */
export const inFile = {
  summaries: ask<ReadonlyArray<ViewModel.SessionSummary>>("summaries"),
  entries: (key: string) => ask<ReadonlyArray<ViewModel.EntryRow>>(`sessions/${key}/entries`),
  tree: (key: string, { all, filter }: TreeOptions) =>
    ask<ViewModel.TreePage>(`sessions/${key}/tree?filter=${filter}${all ? "&all=1" : ""}`)
}
