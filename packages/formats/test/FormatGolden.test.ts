/**
 * What each format makes of fixtures, byte for byte. `PI_SESSIONS_WRITE_GOLDEN=1` writes the files anew; look at what
 * changed before it is committed.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Fs from "node:fs"
import * as process from "node:process"
import { FORMATS } from "../src/Formats.ts"
import { type DataFile } from "../src/SampleFormat.ts"
import { SAMPLE_FORMATS, fixtureSamples, linesOf } from "./support/formats.ts"

const GOLDEN = new URL("golden/", import.meta.url)
const WRITE = process.env["PI_SESSIONS_WRITE_GOLDEN"] === "1"

/** Parallel calls and `gt prime`; a context with answers; calls without ids; branches, an image and thinking. */
const SESSIONS = [
  fixtureSamples("gt/deacon-patrol", "deacon"),
  fixtureSamples("project/compacted"),
  fixtureSamples("gt/mayor-pi-rust", "mayor"),
  fixtureSamples("project/branches")
]

/** What a golden file holds; the text itself once it was written anew. */
const golden = (name: string, text: string): string => {
  const file = new URL(name, GOLDEN)
  if (WRITE) {
    Fs.mkdirSync(GOLDEN, { recursive: true })
    Fs.writeFileSync(file, text)
  }
  return Fs.readFileSync(file, "utf8")
}

const FILES: ReadonlyArray<DataFile> = [
  { name: "train.jsonl", split: "train", file: "train", lines: 12 },
  { name: "validation.jsonl", split: "validation", file: "train", lines: 2 }
]

describe.each(SAMPLE_FORMATS)("%s", (name) => {
  const format = FORMATS[name]

  it("gives the recorded lines for the fixtures", () => {
    const lines = SESSIONS.flatMap((samples) => linesOf(format, samples)).map((line) =>
      "refused" in line ? JSON.stringify({ refused: line.refused }) : line.text
    )
    const text = lines.map((line) => `${line}\n`).join("")
    assert.strictEqual(text, golden(`${name}.jsonl`, text))
  })

  it("gives the recorded sidecars", () => {
    const sidecars = format.sidecars?.(FILES) ?? []
    for (const sidecar of sidecars) assert.strictEqual(sidecar.text, golden(`${name}.${sidecar.name}`, sidecar.text))
    assert.isTrue(Result.isSuccess(format.validateDataset?.({ files: FILES, sidecars }) ?? Result.succeed([])))
    for (const sidecar of sidecars) {
      const changed = format.validateDataset?.({ files: FILES, sidecars: [{ ...sidecar, text: "{}" }] })
      assert.isTrue(changed !== undefined && Result.isFailure(changed), sidecar.name)
    }
  })
})
