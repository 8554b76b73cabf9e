/**
 * A copy of a string with memory of its own: one that was cut out of a line keeps the whole line in memory. By UTF-16,
 * since an id may hold half a surrogate pair, which UTF-8 would lose.
 */
export const detached = (id: string): string => (id.length < 13 ? id : Buffer.from(id, "utf16le").toString("utf16le"))
