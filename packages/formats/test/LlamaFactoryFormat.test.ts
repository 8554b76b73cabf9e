import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { LlamaFactoryFormat } from "../src/LlamaFactoryFormat.ts"
import { type DataFile, type Sidecar } from "../src/SampleFormat.ts"
import { ShareGptFormat } from "../src/ShareGptFormat.ts"
import { assistant, chain, sample, text, user } from "@pi-sessions/samples/test/sessions"

const FILES: ReadonlyArray<DataFile> = [
  { name: "train.jsonl", split: "train", file: "train", lines: 3 },
  { name: "validation.jsonl", split: "validation", file: "train", lines: 1 }
]

describe("LlamaFactoryFormat", () => {
  it("writes the lines of sharegpt", () => {
    const cut = sample(chain(user("a"), assistant([text("1")])))
    assert.deepStrictEqual(LlamaFactoryFormat.project(cut), ShareGptFormat.project(cut))
  })

  it("describes each file to LLaMA-Factory", () => {
    const [info] = LlamaFactoryFormat.sidecars?.(FILES) ?? []
    if (info === undefined) throw new Error("no dataset_info.json")
    assert.strictEqual(info.name, "dataset_info.json")
    assert.deepStrictEqual(Object.keys(JSON.parse(info.text)), ["train", "validation"])
    const check = (sidecars: ReadonlyArray<Sidecar>) => LlamaFactoryFormat.validateDataset?.({ files: FILES, sidecars })
    assert.deepStrictEqual(check([info]), Result.succeed([]))
    assert.include(String(check([])), "dataset_info.json: it is not there")
    assert.include(String(check([{ ...info, text: "{" }])), "not a valid dataset_info.json")
    assert.include(
      String(check([{ ...info, text: info.text.replace("sharegpt", "openai") }])),
      "not a valid dataset_info.json"
    )
    const [first] = LlamaFactoryFormat.sidecars?.(FILES.slice(0, 1)) ?? []
    assert.include(String(check(first === undefined ? [] : [first])), "no entry for validation.jsonl")
  })
})
