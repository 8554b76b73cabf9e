import { type Json } from "@pi-sessions/core/Json"

/** The value that a text says, or undefined when it is no JSON. */
export const parseJson = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}
