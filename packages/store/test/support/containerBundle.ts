/** The bundle of a container as another program would collect it: with `JSON.parse` and the documented lengths only. */
import * as Fs from "node:fs"
import * as Path from "node:path"

export interface Bundle {
  readonly schema: string
  readonly manifest: unknown
  readonly segment_frame: ReadonlyArray<unknown>
  readonly offset_index: ReadonlyArray<unknown>
  readonly checkpoint: ReadonlyArray<unknown>
  readonly migration_event: ReadonlyArray<unknown>
  readonly active_store?: unknown
}

const parse = (text: string): unknown => JSON.parse(text)

const linesOf = (path: string): ReadonlyArray<unknown> =>
  Fs.existsSync(path)
    ? Fs.readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map(parse)
    : []

const lengthOf = (frame: unknown): number => {
  if (typeof frame === "object" && frame !== null && "payload_length" in frame) return Number(frame.payload_length)
  throw new Error("a frame without a payload_length")
}

/** A frame in its segment. */
export interface RawFrame {
  readonly header: unknown
  readonly payload: Buffer
  /** Header line, payload, newline. */
  readonly bytes: Buffer
}

/** Frames of all segments in order. */
export const framesOf = (container: string): ReadonlyArray<RawFrame> =>
  Fs.readdirSync(Path.join(container, "segments"))
    .toSorted()
    .flatMap((name) => {
      const bytes = Fs.readFileSync(Path.join(container, "segments", name))
      const frames: Array<RawFrame> = []
      for (let at = 0; at < bytes.length;) {
        const newline = bytes.indexOf(0x0a, at)
        const header = parse(bytes.toString("utf8", at, newline))
        const end = newline + 1 + lengthOf(header)
        if (bytes[end] !== 0x0a) throw new Error(`no newline ends the frame at byte ${at} of ${name}`)
        frames.push({ header, payload: bytes.subarray(newline + 1, end), bytes: bytes.subarray(at, end + 1) })
        at = end + 1
      }
      return frames
    })

/** The bundle of the container `<session-id>.v2` and its marker. */
export const collect = (container: string): Bundle => {
  const marker = container.replace(/\.v2$/, ".active.json")
  const checkpoints = Path.join(container, "checkpoints")
  return {
    schema: "pi.session_store_v2.contract.v1",
    manifest: parse(Fs.readFileSync(Path.join(container, "manifest.json"), "utf8")),
    segment_frame: framesOf(container).map((frame) => frame.header),
    offset_index: linesOf(Path.join(container, "index", "offsets.jsonl")),
    checkpoint: Fs.readdirSync(checkpoints)
      .toSorted()
      .map((name) => parse(Fs.readFileSync(Path.join(checkpoints, name), "utf8"))),
    migration_event: linesOf(Path.join(container, "migrations", "ledger.jsonl")),
    ...(Fs.existsSync(marker) ? { active_store: parse(Fs.readFileSync(marker, "utf8")) } : {})
  }
}
