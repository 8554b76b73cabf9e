/** Text of sessions. Characters that control or hide text are made visible; nothing becomes markup. */
import { type JSX } from "preact"
import { harmless } from "@pi-sessions/report/TerminalText"

/** Isolated, so that its direction of reading does not affect its surroundings. */
export const Text = ({ value }: { readonly value: string }): JSX.Element => <bdi>{harmless(value)}</bdi>

/** `2026-02-01 10:00` in UTC; other text unchanged, at most 40 characters. */
export const timeOf = (iso: string | undefined): string => {
  if (iso === undefined) return ""
  const ms = Date.parse(iso)
  return Number.isNaN(ms) ? harmless(iso).slice(0, 40) : new Date(ms).toISOString().slice(0, 16).replace("T", " ")
}

/** `1.5 MiB` */
export const sizeOf = (bytes: number): string => {
  const units = ["B", "KiB", "MiB", "GiB"]
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** A name from the API as words. */
export const words = (name: string): string => name.replaceAll("_", " ")
