/**
 * The six records on disk: decoding returns what was encoded, agrees with `JSON.parse` and the schema, and detects every
 * changed bit and every missing byte.
 */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as Util from "node:util"
import { crc32 } from "node:zlib"
import * as SegmentFrame from "../src/wire/SegmentFrame.ts"
import * as RandomRecords from "./support/randomRecords.ts"
import { checksum, kinds, sealed } from "./support/records.ts"
import * as settings from "./support/settings.ts"

const CASES = settings.fuzz({ test: 200, campaign: 5000 })

const same = (ours: unknown, expected: unknown, name: string): void => {
  if (!Util.isDeepStrictEqual(ours, expected)) assert.deepStrictEqual(ours, expected, name)
}

const objectOf = (value: unknown): object => {
  if (typeof value !== "object" || value === null) throw new Error("no object")
  return value
}

const without = (value: unknown, ...names: ReadonlyArray<string>): object =>
  Object.fromEntries(Object.entries(objectOf(value)).filter(([name]) => !names.includes(name)))

describe.each(kinds)("$name", ({ decode, name, ofSchema, sample }) => {
  const isFrame = name === "segment_frame"
  /** The value on the record's line by `JSON.parse`, and the payload after it. */
  const parsed = (bytes: Buffer): { readonly value: unknown; readonly payload: Buffer } => {
    const newline = bytes.indexOf(0x0a)
    const value: unknown = JSON.parse(bytes.toString("utf8", 0, newline))
    return { value, payload: isFrame ? bytes.subarray(newline + 1, -1) : Buffer.alloc(0) }
  }

  it("decodes to what was encoded", () => {
    for (const seed of settings.seeds(CASES)) {
      const { bytes, expected } = sample(SeededRandom.make(seed))
      const decoded = decode(bytes)
      assert.isDefined(decoded, `seed ${seed}`)
      same(
        isFrame ? without(decoded, "crc32") : without(decoded, "crc32", "schema"),
        isFrame ? expected : without(expected, "schema"),
        `seed ${seed}`
      )
    }
  })

  it("is a line of JSON with the same value, accepted by the schema, with the checksum that zlib computes", () => {
    for (const seed of settings.seeds(CASES)) {
      const { bytes } = sample(SeededRandom.make(seed))
      const { payload, value } = parsed(bytes)
      same(ofSchema(value), value, `seed ${seed}: the schema`)
      const ours = without(decode(bytes), "crc32", "schema")
      same(ours, without(value, "crc32", "schema"), `seed ${seed}: JSON.parse`)
      const line = bytes.toString("utf8", 0, bytes.indexOf(0x0a))
      const at = line.lastIndexOf(',"crc32":')
      assert.strictEqual(Reflect.get(objectOf(value), "crc32"), checksum(line.slice(0, at), payload), `seed ${seed}`)
      assert.isTrue(sealed(objectOf(value), isFrame ? payload : undefined).equals(bytes), `seed ${seed}: one spelling`)
    }
  })

  it("is refused when any bit of it is flipped", () => {
    let cases = 0
    for (const seed of settings.seeds(settings.isCampaign ? 20 : 3)) {
      const { bytes } = sample(SeededRandom.make(seed))
      // Long ids only add time.
      if (bytes.length > 3000) continue
      for (let at = 0; at < bytes.length; at++) {
        for (let bit = 0; bit < 8; bit++, cases++) {
          const broken = Buffer.from(bytes)
          broken[at] = (broken[at] ?? 0) ^ (1 << bit)
          assert.isUndefined(decode(broken), `seed ${seed}: bit ${bit} of byte ${at}`)
        }
      }
    }
    assert.isAbove(cases, 1000)
    settings.note(`Codecs: ${cases} flipped bits of ${name}`)
  })

  it("is refused when it is truncated, and when something follows it", () => {
    for (const seed of settings.seeds(5)) {
      const { bytes } = sample(SeededRandom.make(seed))
      for (let end = 0; end < bytes.length; end++) {
        // A document without its newline is complete.
        const isWhole = end === bytes.length - 1 && !isFrame && name !== "offset_index"
        const cut = bytes.subarray(0, end)
        assert.isTrue(decode(cut) === undefined || isWhole, `seed ${seed}: broken off after ${end} bytes`)
      }
      assert.isUndefined(decode(Buffer.concat([bytes, Buffer.from("\n")])), `seed ${seed}: a line more`)
      if (!isFrame) assert.isUndefined(decode(Buffer.concat([bytes, bytes])), `seed ${seed}: twice`)
    }
  })

  it("is refused in any other spelling with a valid checksum", () => {
    for (const seed of settings.seeds(20)) {
      const { bytes } = sample(SeededRandom.make(seed))
      const { payload, value } = parsed(bytes)
      const record = objectOf(value)
      const spelled = (text: string) => {
        const open = text.slice(0, -1)
        const line = Buffer.from(`${open},"crc32":"${checksum(open, payload)}"}\n`)
        return isFrame ? Buffer.concat([line, payload, Buffer.from("\n")]) : line
      }
      const text = JSON.stringify(without(record, "crc32"))
      assert.isDefined(decode(spelled(text)), `seed ${seed}: its own spelling`)
      assert.isUndefined(decode(spelled(text.replace('"schema"', '"schema2"'))), `seed ${seed}: another member`)
      assert.isUndefined(decode(spelled(text.replace(".v1", ".v2"))), `seed ${seed}: another schema`)
      assert.isUndefined(decode(spelled(`[${text}]`)), `seed ${seed}: an array`)
      if (!isFrame && name !== "offset_index") continue
      // Frames and rows are matched by a pattern, which must agree with the schema.
      assert.isUndefined(decode(spelled(text.replace(",", ", "))), `seed ${seed}: a space`)
      assert.isUndefined(decode(spelled(text.replace('"frame_seq":', '"frame_seq":0'))), `seed ${seed}: a leading zero`)
      for (const member of ["segment_seq", "frame_seq"]) {
        for (const wrong of [0, -1, 1.5, 1e15, 2 ** 53, "1", null]) {
          const other = { ...record, [member]: wrong }
          const ours = decode(spelled(JSON.stringify(without(other, "crc32"))))
          assert.isUndefined(ofSchema(other), `the schema: ${member} ${wrong}`)
          assert.isUndefined(ours, `seed ${seed}: ${member} ${wrong}`)
        }
      }
    }
  })
})

describe("a frame", () => {
  it("reports how many bytes are needed, never too many, wherever the bytes end", () => {
    for (const seed of settings.seeds(10)) {
      const random = SeededRandom.make(seed)
      const frame = SegmentFrame.encode(RandomRecords.frame(random), RandomRecords.payload(random))
      const before = random.int(50)
      const bytes = Buffer.concat([Buffer.alloc(before, 0x0a), frame])
      for (let end = before; end < bytes.length; end++) {
        const decoded = SegmentFrame.decode(bytes, before, end)
        if (decoded._tag !== "Incomplete") return assert.fail(`seed ${seed}: ${decoded._tag} with ${end} bytes`)
        assert.isAbove(decoded.bytesNeeded, end - before)
        assert.isAtMost(decoded.bytesNeeded, frame.length)
      }
    }
  })

  it("has zlib's checksum of its header up to the checksum and of its payload", () => {
    const payload = Buffer.from('{"type":"custom"}')
    const fields = RandomRecords.frame(SeededRandom.make(1))
    const bytes = SegmentFrame.encode(fields, payload)
    const header = bytes.subarray(0, bytes.indexOf(',"crc32"'))
    const expected = crc32(Buffer.concat([header, payload]))
      .toString(16)
      .padStart(8, "0")
    assert.include(bytes.toString("utf8"), `,"crc32":"${expected}"}\n`)
  })

  it("does not read endlessly when no header ends", () => {
    const bytes = Buffer.alloc(SegmentFrame.HEADER_BYTES_MAX + 2, 0x20)
    assert.strictEqual(SegmentFrame.decode(bytes, 0, bytes.length)._tag, "Damaged")
  })
})
