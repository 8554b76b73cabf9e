import { createHash } from "node:crypto"

/** SHA-256 of the parts, each preceded by its length so that no two lists of parts collide by concatenation. */
export const sha256Hex = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) {
    hash.update(`${part.length}:`)
    hash.update(part)
  }
  return hash.digest("hex")
}
