/** Files among the sessions that are not sessions. */

/** A path that is no session or could not be read, and why. */
export interface OtherFile {
  readonly path: string
  readonly reason: string
  /**
   * `unread`: the system refused to show what it is. `undecided`: what was read of it says neither. Absent where it is
   * no session.
   */
  readonly why?: "unread" | "undecided"
}
