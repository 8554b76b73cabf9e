/**
 * The bytes of a file at one moment. They never change, so snapshots can share them.
 *
 * An append uses the spare room after the bytes if it is free, so that a file that grows by many small writes is not
 * copied each time.
 */
export type FileContent = Uint8Array<ArrayBuffer>

export const empty: FileContent = new Uint8Array(0)

// How much of a buffer is taken by the longest content that lies in it; the rest is zeros.
const taken = new WeakMap<ArrayBuffer, number>()

/** The content with `bytes` at `offset`; what lies between the old end and `offset` reads as zeros. */
export const write = (content: FileContent, offset: number, bytes: Uint8Array): FileContent => {
  const end = offset + bytes.length
  const { buffer } = content
  if (offset >= content.length && taken.get(buffer) === content.length && end <= buffer.byteLength) {
    const grown = new Uint8Array(buffer, 0, end)
    grown.set(bytes, offset)
    taken.set(buffer, end)
    return grown
  }
  const length = Math.max(content.length, end)
  const appends = offset >= content.length
  const copy = new Uint8Array(new ArrayBuffer(appends ? Math.max(64, length + (length >> 1)) : length), 0, length)
  copy.set(content)
  copy.set(bytes, offset)
  taken.set(copy.buffer, length)
  return copy
}

/** The content cut to `length`, or made longer with zeros. */
export const truncate = (content: FileContent, length: number): FileContent => {
  if (length <= content.length) return content.subarray(0, length)
  return write(content, length, empty)
}

/** A copy that shares nothing, of text or bytes. */
export const from = (data: string | Uint8Array): FileContent =>
  typeof data === "string" ? new TextEncoder().encode(data) : Uint8Array.from(data)
