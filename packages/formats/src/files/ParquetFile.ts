/**
 * Parquet files made of files of lines, and read as lines again. Neither way holds more of a file than one row group, and
 * row groups are bounded by the bytes of their lines, so that memory does not grow with the dataset.
 *
 * A column is text, JSON, a number, a flag, or a list or struct of such. JSON stands as text under Parquet's own mark for
 * JSON: Arrow would give every row all the members that the objects of any row have. Whoever does not know the mark reads
 * text. A column that is null is null; a member of a struct that is null is not there.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import type { SchemaElement } from "hyparquet"
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type ContainerFile } from "../Sample.ts"
import * as JsonText from "@pi-sessions/core/JsonText"
import * as LineStream from "./LineStream.ts"
import * as ParquetLayout from "./parquetLayout.ts"
import * as ParquetPages from "./parquetPages.ts"

/** What a column, an item or a member holds. */
export type Column = { readonly isOptional?: boolean } & (
  | { readonly _tag: "Text" | "Json" | "Int" | "Flag" }
  | { readonly _tag: "List"; readonly item: Column }
  | { readonly _tag: "Struct"; readonly members: Columns }
)

/** In the order in which they stand in the file. */
export interface Columns {
  readonly [name: string]: Column
}

export const text: Column = { _tag: "Text" }
/** Any JSON value. */
export const json: Column = { _tag: "Json" }
/** Of 32 bits. */
export const int: Column = { _tag: "Int" }
export const flag: Column = { _tag: "Flag" }
export const list = (item: Column): Column => ({ _tag: "List", item })
export const struct = (members: Columns): Column => ({ _tag: "Struct", members })
/** A column that may be null, or a member that may be missing. */
export const optional = (column: Column): Column => ({ ...column, isOptional: true })

/** Bytes of lines in a row group, unless one line has more. */
const GROUP_BYTES = 8 << 20

/**
 * Makes the file `target`, which must not exist, of the rows that the lines of `source` hold: JSON objects of one shape,
 * whose columns `columnsOf` tells from the first of them. The same lines give the same bytes.
 */
export const fromLines = Effect.fn("ParquetFile.fromLines")(function* (
  source: string,
  target: string,
  columnsOf: (first: JsonObject | undefined) => Columns
): Effect.fn.Return<ContainerFile, SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const { ByteWriter, ParquetWriter } = yield* Effect.promise(() => import("hyparquet-writer"))
  const failed = fromPlatform(target, "write")
  const write = Effect.gen(function* () {
    const file = yield* fs.open(target, { flag: "wx" }).pipe(Effect.mapError(failed))
    const bytes = new ByteWriter()
    const hash = createHash("sha256")
    const flush = Effect.suspend(() => {
      const made = bytes.getBytes()
      bytes.index = 0
      hash.update(made)
      return Effect.mapError(file.writeAll(made), failed)
    })
    let columns: Columns | undefined
    const start = () => {
      columns ??= columnsOf(undefined)
      return new ParquetWriter({ writer: bytes, schema: schemaOf(columns, "UTF8"), createdBy: "pi-sessions" })
    }
    let writer: InstanceType<typeof ParquetWriter> | undefined
    let rows = 0
    let group: Array<JsonObject> = []
    let groupBytes = 0
    const writeGroup = Effect.gen(function* () {
      if (group.length === 0) return
      const into = (writer ??= start())
      const columnData = dataOf(columns ?? {}, group)
      // The bytes go to memory, so nothing is waited for.
      yield* Effect.try({
        try: () => void into.write({ columnData, rowGroupSize: group.length }),
        catch: () => noRow(source, `one of lines ${rows + 1} to ${rows + group.length}`)
      })
      rows += group.length
      group = []
      groupBytes = 0
      yield* flush
    })
    const take = Effect.fnUntraced(function* (line: Uint8Array) {
      if (groupBytes > 0 && groupBytes + line.length > GROUP_BYTES) yield* writeGroup
      const row = JsonText.parseObject(Buffer.from(line.buffer, line.byteOffset, line.length).toString())
      const known = columns ?? columnsOf(row)
      if (row === undefined || Object.keys(row).some((name) => !Object.hasOwn(known, name))) {
        return yield* noRow(source, `line ${rows + group.length + 1}`)
      }
      columns = known
      group.push(row)
      groupBytes += line.length
    })
    yield* LineStream.lines(source).pipe(
      Stream.runForEach((lines) => Effect.forEach(lines, ({ bytes }) => take(bytes), { discard: true }))
    )
    yield* writeGroup
    writer ??= start()
    // Rows hold JSON as text already; only its reader is to know.
    writer.schema = schemaOf(columns ?? {}, "JSON")
    void writer.finish()
    yield* flush
    yield* Effect.mapError(file.sync, failed)
    return { rows, bytes: bytes.offset, sha256: hash.digest("hex") }
  })
  return yield* Effect.scoped(write)
})

const noRow = (path: string, line: string): SessionFileError =>
  new SessionFileError({ path, operation: "read", reason: `${line} is no row of these columns` })

const dataOf = (columns: Columns, rows: ReadonlyArray<JsonObject>) =>
  Object.entries(columns).map(([name, column]) => ({
    name,
    data: rows.map((row) => stored(row[name], column)),
    // The smallest and the largest of texts that are no names say nothing.
    statistics: column._tag !== "List" && column._tag !== "Json"
  }))

/** A value as the writer takes it: JSON as text. */
const stored = (value: Json | undefined, column: Column): unknown => {
  if (value === undefined) return undefined
  if (column._tag === "Json") return value === null && column.isOptional === true ? undefined : JSON.stringify(value)
  if (value === null) return undefined
  switch (column._tag) {
    case "List":
      return isArray(value) ? value.map((item) => stored(item, column.item)) : value
    case "Struct": {
      if (!isObject(value)) return value
      return Object.fromEntries(
        Object.entries(column.members).map(([name, member]) => [name, stored(value[name], member)])
      )
    }
    default:
      return value
  }
}

const schemaOf = (columns: Columns, jsonAs: "UTF8" | "JSON"): Array<SchemaElement> => [
  { name: "schema", num_children: Object.keys(columns).length },
  ...Object.entries(columns).flatMap(([name, column]) => elementsOf(name, column, jsonAs))
]

const elementsOf = (name: string, column: Column, jsonAs: "UTF8" | "JSON"): ReadonlyArray<SchemaElement> => {
  const element = { name, repetition_type: column.isOptional === true ? "OPTIONAL" : "REQUIRED" } as const
  switch (column._tag) {
    case "Text":
      return [{ ...element, type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } }]
    case "Json":
      return jsonAs === "UTF8"
        ? elementsOf(name, { ...column, _tag: "Text" }, jsonAs)
        : [{ ...element, type: "BYTE_ARRAY", converted_type: "JSON", logical_type: { type: "JSON" } }]
    case "Int":
      return [{ ...element, type: "INT32" }]
    case "Flag":
      return [{ ...element, type: "BOOLEAN" }]
    case "List":
      return [
        { ...element, converted_type: "LIST", logical_type: { type: "LIST" }, num_children: 1 },
        { name: "list", repetition_type: "REPEATED", num_children: 1 },
        ...elementsOf("element", column.item, jsonAs)
      ]
    case "Struct":
      return [
        { ...element, num_children: Object.keys(column.members).length },
        ...Object.entries(column.members).flatMap(([name, member]) => elementsOf(name, member, jsonAs))
      ]
  }
}

/** Where a Parquet file says how long its footer is. */
const TAIL_BYTES = 8

/** The rows of a Parquet file as lines of JSON, those of one row group after the other. */
export const readLines = (
  path: string
): Stream.Stream<ReadonlyArray<string>, SessionFileError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const hyparquet = yield* Effect.promise(() => import("hyparquet"))
      const fs = yield* FileSystem.FileSystem
      const failed = fromPlatform(path, "read")
      const broken = (): SessionFileError =>
        new SessionFileError({ path, operation: "read", reason: "it is no Parquet file, or a damaged one" })
      const file = yield* fs.open(path, { flag: "r" }).pipe(Effect.mapError(failed))
      const size = Number((yield* Effect.mapError(file.stat, failed)).size)
      const read = Effect.fnUntraced(function* (start: number, end: number) {
        if (start < 0 || end > size || start > end) return yield* broken()
        const bytes = new Uint8Array(end - start)
        yield* Effect.mapError(file.seek(BigInt(start), "start"), failed)
        for (let at = 0; at < bytes.length;) {
          const count = Number(yield* Effect.mapError(file.read(bytes.subarray(at)), failed))
          if (count === 0) return yield* broken()
          at += count
        }
        return bytes.buffer
      })
      const tail = new DataView(yield* read(size - TAIL_BYTES, size))
      const footer = yield* read(size - TAIL_BYTES - tail.getUint32(0, true), size)
      // What the library finds wrong it throws, and what it does not look at it may wait for in vain.
      const checked = yield* Effect.try({
        try: () => {
          const metadata = hyparquet.parquetMetadata(footer, { geoparquet: false })
          return ParquetLayout.check(metadata, hyparquet.parquetSchema(metadata), size)
        },
        catch: broken
      })
      if (checked._tag === "Unreadable") {
        return yield* new SessionFileError({ path, operation: "read", reason: checked.reason })
      }
      const { groups, metadata, required } = checked
      return Stream.fromIterable(groups).pipe(
        Stream.mapEffect(({ columns, end, group, rows, start }) =>
          Effect.gen(function* () {
            const bytes = yield* read(start, end)
            const slice = (from: number, to = size) => bytes.slice(from - start, to - start)
            return yield* Effect.tryPromise({
              try: async () => {
                for (const column of columns) {
                  const pages = new Uint8Array(bytes, column.start - start, column.end - column.start)
                  ParquetPages.check(pages, column, hyparquet.snappyUncompress)
                }
                const found = await hyparquet.parquetReadObjects({
                  file: { byteLength: size, slice },
                  metadata: { ...metadata, row_groups: [group] },
                  parsers: { jsonFromBytes: StoredJson.of }
                })
                if (found.length !== rows) throw new Error("not as many rows as the file says")
                return found.map((row) => lineOf(row, required))
              },
              catch: broken
            })
          })
        )
      )
    })
  )

const decoder = new TextDecoder()

/** The text of a JSON value, which is not looked into until it is written. */
class StoredJson {
  static readonly of = (bytes: Uint8Array | undefined): StoredJson | undefined =>
    bytes === undefined ? undefined : new StoredJson(decoder.decode(bytes))

  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** The value; the text itself where it is no JSON. */
  toJSON(): Json {
    const value = JsonText.parse(this.#text)
    return value === undefined ? this.#text : value
  }
}

/** Throws where a column that every row has holds nothing. */
const lineOf = (row: { readonly [column: string]: unknown }, required: ReadonlySet<string>): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (value === undefined && required.has(name)) throw new Error(`no ${name}`)
        return [name, value === undefined ? null : read(value)]
      })
    )
  )

/** The value without members that are null. */
const read = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number(value)
  if (typeof value !== "object" || value === null || value instanceof StoredJson) return value
  if (Array.isArray(value)) return value.map(read)
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null || member === undefined ? [] : [[name, read(member)]]
    )
  )
}
