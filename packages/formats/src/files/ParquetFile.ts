/**
 * Converts files of lines to Parquet files and back. Both directions keep at most one row group in memory, and row
 * groups are limited by the bytes of their lines, so memory does not grow with the dataset.
 *
 * A column is text, JSON, a number, a boolean, or a list or struct of these. JSON is text with Parquet's logical type
 * JSON: as a struct, Arrow would give every row the members of all rows. Readers without support for this type return
 * text. A null column is null; a null member of a struct is absent.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import type { SchemaElement } from "hyparquet"
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type ContainerFile } from "../SampleFormat.ts"
import * as JsonText from "@pi-sessions/core/JsonText"
import * as LineStream from "./LineStream.ts"
import * as ParquetLayout from "./parquetLayout.ts"
import * as ParquetPages from "./parquetPages.ts"

/** The type of a column, an item or a member. */
export type Column = { readonly isOptional?: boolean } & (
  | { readonly _tag: "Text" | "Json" | "Int" | "Flag" }
  | { readonly _tag: "List"; readonly item: Column }
  | { readonly _tag: "Struct"; readonly members: Columns }
)

/** In file order. */
export interface Columns {
  readonly [name: string]: Column
}

export const text: Column = { _tag: "Text" }
export const json: Column = { _tag: "Json" }
/** A 32-bit integer. */
export const int: Column = { _tag: "Int" }
export const flag: Column = { _tag: "Flag" }
export const list = (item: Column): Column => ({ _tag: "List", item })
export const struct = (members: Columns): Column => ({ _tag: "Struct", members })
/** A column that can be null, or a member that can be absent. */
export const optional = (column: Column): Column => ({ ...column, isOptional: true })

/** Bytes of lines in a row group, unless one line is larger. */
const GROUP_BYTES = 8 << 20

/**
 * Writes the file `target`, which must not exist, from the lines of `source`: JSON objects of one shape, whose columns
 * `columnsOf` derives from the first. Equal lines give equal bytes.
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
      // The library writes to memory, so this does not block.
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
    // The rows already contain JSON as text; only the reader needs the logical type.
    writer.schema = schemaOf(columns ?? {}, "JSON")
    void writer.finish()
    yield* flush
    yield* Effect.mapError(file.sync, failed)
    return { rows, bytes: bytes.offset, sha256: hash.digest("hex") }
  })
  return yield* Effect.scoped(write)
})

const noRow = (path: string, line: string): SessionFileError =>
  new SessionFileError({ path, operation: "read", reason: `${line} does not have the columns of the first row` })

const dataOf = (columns: Columns, rows: ReadonlyArray<JsonObject>) =>
  Object.entries(columns).map(([name, column]) => ({
    name,
    data: rows.map((row) => stored(row[name], column)),
    // Minimum and maximum are useless for texts that are not names.
    statistics: column._tag !== "List" && column._tag !== "Json"
  }))

/** A value as the writer expects it: JSON as text. */
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

/** The last bytes of a Parquet file: the footer's length and the magic number. */
const TAIL_BYTES = 8

/** Returns the rows of a Parquet file as JSON lines, one row group after the other. */
export const readLines = (
  path: string
): Stream.Stream<ReadonlyArray<string>, SessionFileError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const hyparquet = yield* Effect.promise(() => import("hyparquet"))
      const fs = yield* FileSystem.FileSystem
      const failed = fromPlatform(path, "read")
      const broken = (): SessionFileError =>
        new SessionFileError({ path, operation: "read", reason: "not a Parquet file, or a damaged one" })
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
      // The library throws on some damage and waits forever on other damage.
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
                if (found.length !== rows) throw new Error("another number of rows than the footer says")
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

/** The text of a JSON value, which is parsed when it is written. */
class StoredJson {
  static readonly of = (bytes: Uint8Array | undefined): StoredJson | undefined =>
    bytes === undefined ? undefined : new StoredJson(decoder.decode(bytes))

  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** The value; the text itself if it is not JSON. */
  toJSON(): Json {
    const value = JsonText.parse(this.#text)
    return value === undefined ? this.#text : value
  }
}

/** Throws if a required column is empty. */
const lineOf = (row: { readonly [column: string]: unknown }, required: ReadonlySet<string>): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (value === undefined && required.has(name)) throw new Error(`no ${name}`)
        return [name, value === undefined ? null : read(value)]
      })
    )
  )

/** The value without null members. */
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
