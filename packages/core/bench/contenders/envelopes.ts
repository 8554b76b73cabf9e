/** One contender of envelopes.bench.ts: `WHICH FILE`. All read with readSync; none keeps what it parsed. */
import * as FileSystem from "node:fs"
import { report } from "@pi-sessions/testing/Bench"
import * as Session from "../../src/Session.ts"
import { SessionReader } from "../../src/SessionReader.ts"

const [which = "", file = ""] = process.argv.slice(2)
const CHUNK_BYTES = 1 << 20

function* chunks(): Generator<Uint8Array> {
  const handle = FileSystem.openSync(file, "r")
  for (;;) {
    const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
    const read = FileSystem.readSync(handle, buffer)
    if (read === 0) break
    yield buffer.subarray(0, read)
  }
  FileSystem.closeSync(handle)
}

/** The fastest plain way known: one buffer, native newline search, JSON.parse. */
const parse = (): number => {
  const handle = FileSystem.openSync(file, "r")
  const buffer = Buffer.allocUnsafeSlow(4 << 20)
  let used = 0
  let entries = 0
  for (;;) {
    const read = FileSystem.readSync(handle, buffer, used, buffer.length - used, null)
    if (read === 0) break
    used += read
    let start = 0
    const filled = buffer.subarray(0, used)
    for (let end = filled.indexOf(10, start); end >= 0; end = filled.indexOf(10, start)) {
      const entry: { readonly type?: unknown } = JSON.parse(buffer.toString("utf8", start, end))
      if (entry.type !== undefined) entries++
      start = end + 1
    }
    buffer.copyWithin(0, start, used)
    used -= start
  }
  FileSystem.closeSync(handle)
  return entries
}

const stream = (): number => {
  const reader = new SessionReader()
  let entries = 0
  for (const chunk of chunks()) entries += reader.push(chunk).length
  return entries + reader.end().length
}

await report(() => (which === "parse" ? parse() : which === "stream" ? stream() : Session.read(chunks())))
