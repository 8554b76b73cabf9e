/**
 * A copy of a string in its own memory, because a substring keeps the whole line in memory. Copied as UTF-16: an id may
 * hold half a surrogate pair, which UTF-8 would lose.
 */
export const detached = (id: string): string => (id.length < 13 ? id : Buffer.from(id, "utf16le").toString("utf16le"))
