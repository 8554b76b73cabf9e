/** Columns and orders of `list`. A module of its own, because the command's help needs them. */

export const COLUMNS = [
  "id",
  "modified",
  "started",
  "size",
  "messages",
  "name",
  "cwd",
  "rig",
  "role",
  "format",
  "version",
  "parent",
  "path"
] as const
export type ColumnName = (typeof COLUMNS)[number]

export const SORTS = ["modified", "started", "size", "messages", "name", "id", "cwd"] as const
export type SortName = (typeof SORTS)[number]
