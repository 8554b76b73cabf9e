/** A file among the sessions that is not a session. */
export interface OtherFile {
  readonly path: string
  readonly reason: string
  /**
   * `unread`: the system refused access. `undecided`: its first MiB does not show whether it is a session. Absent if it
   * is not a session.
   */
  readonly why?: "unread" | "undecided"
}
