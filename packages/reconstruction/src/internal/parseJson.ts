/** `JSON.parse` that returns undefined for invalid text. */
import { type Json } from "@pi-sessions/core/Json"

export const parseJson = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}
