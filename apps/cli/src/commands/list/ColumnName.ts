/** Names of the columns that `list` can show, in a module of their own because they stand in the command's help. */

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
