/**
 * Checks a Parquet footer for contradictions. The library trusts the footer: it starts to read one column while another
 * is missing, and allocates as many rows as the footer claims.
 */
import type { FileMetaData, RowGroup, SchemaElement, SchemaTree } from "hyparquet"
import { type ColumnShape } from "./parquetPages.ts"

/** A row group, and the byte ranges of its columns. */
export interface CheckedGroup {
  readonly group: RowGroup
  readonly rows: number
  readonly start: number
  readonly end: number
  readonly columns: ReadonlyArray<ColumnShape & { readonly start: number; readonly end: number }>
}

export type CheckedLayout =
  | {
      readonly _tag: "Readable"
      readonly metadata: FileMetaData
      readonly groups: ReadonlyArray<CheckedGroup>
      /** Columns with a value in every row. */
      readonly required: ReadonlySet<string>
    }
  | { readonly _tag: "Unreadable"; readonly reason: string }

/** A column of values. */
interface Leaf {
  readonly path: ReadonlyArray<string>
  readonly element: SchemaElement
  readonly maxRepetition: number
  readonly maxDefinition: number
}

/** Codecs that need no additional library. */
const CODECS = new Set<string>(["UNCOMPRESSED", "SNAPPY"])

/** Limit of values in a row group that fits in memory. */
const MOST_VALUES = 1 << 26

function* leavesOf(tree: SchemaTree, maxRepetition = 0, maxDefinition = 0): Generator<Leaf> {
  const { children, element, path } = tree
  if (children.length === 0) yield { path, element, maxRepetition, maxDefinition }
  for (const child of children) {
    const { repetition_type: repetition } = child.element
    yield* leavesOf(
      child,
      maxRepetition + (repetition === "REPEATED" ? 1 : 0),
      maxDefinition + (repetition === "REQUIRED" ? 0 : 1)
    )
  }
}

/** Throws if the footer contradicts itself or the file's size. */
export const check = (metadata: FileMetaData, tree: SchemaTree, size: number): CheckedLayout => {
  const leaves = [...leavesOf(tree)]
  const names = leaves.map(({ path }) => JSON.stringify(path))
  const isTree = tree.count === metadata.schema.length && new Set(names).size === names.length
  demand(isTree && leaves.every(({ element }) => element.type !== undefined))
  const codecs = new Set(metadata.row_groups.flatMap(({ columns }) => columns.map((column) => column.meta_data?.codec)))
  const codec = [...codecs].find((codec) => codec !== undefined && !CODECS.has(codec))
  if (codec !== undefined) {
    return { _tag: "Unreadable", reason: `its compression ${codec} is not supported; supported: none, SNAPPY` }
  }
  const required = tree.children.filter(({ element }) => element.repetition_type === "REQUIRED")
  return {
    _tag: "Readable",
    metadata,
    groups: metadata.row_groups.map((group) => groupOf(group, leaves, size)),
    required: new Set(required.map(({ element }) => element.name))
  }
}

const groupOf = (group: RowGroup, leaves: ReadonlyArray<Leaf>, size: number): CheckedGroup => {
  const rows = Number(group.num_rows)
  demand(rows > 0 && group.columns.length === leaves.length)
  let start = size
  let end = 0
  const shapes: Array<CheckedGroup["columns"][number]> = []
  for (const [at, { element, maxDefinition, maxRepetition, path }] of leaves.entries()) {
    const column = group.columns[at]?.meta_data
    if (column === undefined) throw new Error("a column without metadata")
    const { path_in_schema, type } = column
    demand(JSON.stringify(path_in_schema) === JSON.stringify(path) && type === element.type)
    const values = Number(column.num_values)
    demand(values <= MOST_VALUES && (maxRepetition > 0 ? values >= rows : values === rows))
    const from = Number(column.dictionary_page_offset ?? column.data_page_offset)
    const to = from + Number(column.total_compressed_size)
    demand(from >= 0 && from < to && to <= size)
    start = Math.min(start, from)
    end = Math.max(end, to)
    const isCompressed = column.codec !== "UNCOMPRESSED"
    shapes.push({ start: from, end: to, values, isCompressed, maxDefinition, maxRepetition })
  }
  return { group, rows, start, end, columns: shapes }
}

const demand = (holds: boolean): void => {
  if (!holds) throw new Error("the footer contradicts itself")
}
