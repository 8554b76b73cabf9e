/** SHA-256 of texts and bytes. */
import { hash } from "node:crypto"
import { concat, encodeUtf8 } from "./utf8.ts"

/** SHA-256 of the parts. Each is preceded by its length, so that different lists have different inputs. */
export const sha256Hex = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  let text = ""
  for (const part of parts) {
    if (typeof part !== "string") return hash("sha256", concat(parts.flatMap(bytesOf)), "hex")
    text += `${part.length}:${part}`
  }
  // One call instead of one for each part, for speed.
  return hash("sha256", text, "hex")
}

const bytesOf = (part: string | Uint8Array): ReadonlyArray<Uint8Array> => [
  encodeUtf8(`${part.length}:`),
  typeof part === "string" ? encodeUtf8(part) : part
]
