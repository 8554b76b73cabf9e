/** Keys of marks in answers: of a session, or of an entry of a session. */
export const markKey = (session: string, entry?: string): string =>
  entry === undefined ? session : `${session}/${entry}`
