/** Detects the file type of a base64 image from its first bytes. */

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u

const KINDS: ReadonlyArray<readonly [extension: string, isKind: (bytes: Buffer) => boolean]> = [
  ["png", (bytes) => bytes.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))],
  ["jpg", (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff],
  ["gif", (bytes) => /^GIF8[79]a$/u.test(bytes.toString("latin1", 0, 6))],
  ["webp", (bytes) => bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP"],
  ["bmp", (bytes) => bytes.toString("latin1", 0, 2) === "BM" && bytes.readUIntLE(6, 4) === 0]
]

const HEAD_BYTES = 16

/** Returns the file extension; undefined if the text is not base64 of a known image type. The `mimeType` is not used. */
export const imageKind = (base64: string): string | undefined => {
  const head = Buffer.from(base64.slice(0, (HEAD_BYTES / 3 + 1) * 4), "base64")
  if (head.length < HEAD_BYTES) return undefined
  const kind = KINDS.find(([, isKind]) => isKind(head))
  return kind !== undefined && BASE64.test(base64) ? kind[0] : undefined
}
