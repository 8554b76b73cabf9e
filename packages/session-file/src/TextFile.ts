/**
 * Reads a file that the user named, as text or as JSON, without its byte order mark. Fails with file, line and byte where
 * it is a directory, not UTF-8, binary (a NUL byte), white space only, or not JSON.
 */
import { isUtf8 } from "node:buffer"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { type Json } from "@pi-sessions/core/Json"
import * as JsonText from "@pi-sessions/core/JsonText"
import { SessionFileError, fromPlatform } from "./SessionFileError.ts"

/** The text of the file at `path`. */
export const read = Effect.fn("TextFile.read")(function* (
  path: string
): Effect.fn.Return<string, SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  return yield* decode(path, yield* fs.readFile(path).pipe(Effect.mapError(fromPlatform(path, "read"))))
})

/** The text of bytes that were read from `path`. */
export const decode = (path: string, read: Uint8Array): Effect.Effect<string, SessionFileError> => {
  const bytes = Buffer.from(read.buffer, read.byteOffset, read.length)
  const fault = textFault(bytes)
  return fault === undefined
    ? Effect.succeed(withoutMark(bytes).toString("utf8"))
    : Effect.fail(new SessionFileError({ path, operation: "read", reason: fault }))
}

/** The JSON value of a text that was read from `path`. */
export const parse = (path: string, text: string): Effect.Effect<Json, SessionFileError> => {
  const bytes = Buffer.from(text, "utf8")
  const fault = JsonText.faultIn(bytes)
  if (fault === undefined) {
    const value: Json = JSON.parse(text)
    return Effect.succeed(value)
  }
  const what = fault >= bytes.length ? "it breaks off, which is no JSON" : "it is no JSON from there on"
  return Effect.fail(new SessionFileError({ path, operation: "read", reason: `${place(bytes, fault)}: ${what}` }))
}

const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes

const textFault = (bytes: Buffer): string | undefined => {
  const nul = bytes.indexOf(0)
  if (nul >= 0) return `${place(bytes, nul)}: a NUL byte; it is no text`
  if (!isUtf8(bytes)) return `${place(bytes, firstNotUtf8(bytes))}: it is no UTF-8 text`
  return /^\s*$/u.test(withoutMark(bytes).toString("utf8")) ? "it is empty" : undefined
}

/** Offset of the first invalid byte: decoding replaces it, so that the bytes of the decoded text differ there. */
const firstNotUtf8 = (bytes: Buffer): number => {
  const decoded = Buffer.from(bytes.toString("utf8"), "utf8")
  let at = 0
  while (at < bytes.length && bytes[at] === decoded[at]) at++
  return at
}

/** `line 3, byte 45`: lines from 1, bytes from 0. */
const place = (bytes: Buffer, at: number): string => {
  let line = 1
  for (let newline = bytes.indexOf(0x0a); newline >= 0 && newline < at; newline = bytes.indexOf(0x0a, newline + 1)) {
    line++
  }
  return `line ${line}, byte ${at}`
}
