/** Codecs of small records: a checked line, then the schema. Unknown members are refused. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Json, type JsonObject } from "@pi-sessions/core/Json"
import { asBuffer, open, seal } from "./checkedLine.ts"

export interface RecordCodec<A> {
  /** The record's line, newline included. */
  readonly encode: (record: A) => Buffer
  /** The record on a line, with or without its newline, or why the line is invalid. */
  readonly decode: (bytes: Uint8Array) => Result.Result<A, string>
}

/** Members in the schema's order, so that equal records have equal bytes. */
const inOrder = (record: object, keys: ReadonlyArray<string>): JsonObject => {
  const given = new Map<string, Json>(Object.entries(record))
  const ordered: { [key: string]: Json } = {}
  for (const key of keys) {
    const value = given.get(key)
    if (value !== undefined && key !== "crc32") ordered[key] = value
  }
  return ordered
}

export const recordCodec = <S extends Schema.Struct<Schema.Struct.Fields>>(
  schema: S & Schema.Codec<S["Type"], S["Encoded"]>
): RecordCodec<Omit<S["Type"], "crc32">> => {
  const keys = Object.keys(schema.fields)
  // Compiled on first use, because compiling slows the start.
  let decoder: ((value: unknown) => Result.Result<S["Type"], Schema.SchemaError>) | undefined
  return {
    encode: (record) => seal(inOrder(record, keys)),
    decode: (given) => {
      const bytes = asBuffer(given)
      const end = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length
      if (bytes.indexOf(0x0a) !== bytes.length - 1) return Result.fail("it is not one whole line")
      const value = open(bytes, 0, end)
      if (value === undefined) return Result.fail("its checksum does not match")
      decoder ??= Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })
      return Result.mapError(decoder(value), (error) => error.message)
    }
  }
}
