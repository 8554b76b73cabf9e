/** Roles of Gas Town agents. */
import * as Schema from "effect/Schema"

/** The roles of gastown (`internal/cmd/role.go`). `unknown`: no agent, or one that is not identified. */
export const Role = Schema.Literals([
  "mayor",
  "deacon",
  "boot",
  "dog",
  "witness",
  "refinery",
  "crew",
  "polecat",
  "unknown"
])
export type Role = typeof Role.Type
