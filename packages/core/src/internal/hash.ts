import { hash } from "node:crypto"
import { concat, encodeUtf8 } from "./utf8.ts"

/** SHA-256 of the parts, each preceded by its length so that no two lists of parts collide by concatenation. */
export const sha256Hex = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  let text = ""
  for (const part of parts) {
    if (typeof part !== "string") return hash("sha256", concat(parts.flatMap(bytesOf)), "hex")
    text += `${part.length}:${part}`
  }
  // One call for all: ids are made by the thousand.
  return hash("sha256", text, "hex")
}

const bytesOf = (part: string | Uint8Array): ReadonlyArray<Uint8Array> => [
  encodeUtf8(`${part.length}:`),
  typeof part === "string" ? encodeUtf8(part) : part
]
