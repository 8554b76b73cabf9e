/** Which bytes of a text each token is, for each kind of tokenizer. */
import { Tokenizer } from "@huggingface/tokenizers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ModelTokenizer, type TokenizerFile } from "../src/model/ModelTokenizer.ts"
import { load } from "./support/models.ts"

const added = (id: number, content: string, more: object = {}) => {
  return { id, content, special: true, normalized: false, lstrip: false, rstrip: false, single_word: false, ...more }
}

/** As SentencePiece's models are: blanks are `▁`, one before the text, and bytes where there is no character. */
const sentencePiece = (() => {
  const bytes = Array.from({ length: 0x100 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`)
  const vocabulary = ["<unk>", "<s>", "</s>", ...bytes, "▁", "a", "b", "ab", "▁ab", "\n"]
  const file: TokenizerFile = {
    added_tokens: [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>", { rstrip: true })],
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" }
      ]
    },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 }
      ]
    },
    model: {
      type: "BPE",
      unk_token: "<unk>",
      fuse_unk: true,
      byte_fallback: true,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges: ["a b", "▁ ab"]
    }
  }
  return new ModelTokenizer(new Tokenizer(file, {}), file, ["</s>"])
})()

const partsOf = (tokenizer: ModelTokenizer, text: string): ReadonlyArray<string> | undefined => {
  const bytes = Buffer.from(text)
  return tokenizer.encode(text)?.ends.map((end, at, ends) => bytes.toString("utf8", ends[at - 1] ?? 0, end))
}

describe("a byte-level tokenizer", () => {
  it.effect.prop("gives back every text, byte for byte", [Schema.String], ([text]) =>
    Effect.gen(function* () {
      const { tokenizer } = yield* load("chatml-marked")
      const wellFormed = text.toWellFormed()
      const tokens = tokenizer.encode(wellFormed)
      assert.isDefined(tokens)
      assert.strictEqual(tokenizer.decode(tokens?.ids ?? []), wellFormed)
      assert.strictEqual(tokens?.ids.length, tokenizer.count(wellFormed))
      assert.strictEqual(tokens?.ends.at(-1) ?? 0, Buffer.byteLength(wellFormed))
    })
  )

  it.effect("splits a text at a border only if a token would cross it", () =>
    Effect.gen(function* () {
      const { tokenizer } = yield* load("drops-thinking")
      const text = "command and end"
      const whole = tokenizer.encode(text)
      // The whole word is one token.
      assert.strictEqual(whole?.ends[0], 7)
      assert.deepStrictEqual(tokenizer.encodeWithin(text, [7]), whole)
      const parted = tokenizer.encodeWithin(text, [3])
      assert.isTrue(parted?.ends.includes(3))
      const from = (parted?.ends.indexOf(7) ?? 0) + 1
      assert.isAbove(from, 1)
      assert.deepStrictEqual(parted?.ids.slice(from), whole?.ids.slice(1))
      assert.deepStrictEqual(tokenizer.encodeWithin(text, [0, text.length]), whole)
      assert.strictEqual(tokenizer.decode(parted?.ids ?? []), text)
    })
  )

  it.effect("distinguishes control tokens from text", () =>
    Effect.gen(function* () {
      const { tokenizer } = yield* load("drops-thinking")
      assert.isTrue(tokenizer.hasControl("a <|im_end|> b"))
      assert.isFalse(tokenizer.hasControl("a <tool_call> b <|im_en"))
      assert.isTrue(tokenizer.endsInControl("a<|im_end|>"))
      assert.isFalse(tokenizer.endsInControl("a<|im_end|>\n"))
      assert.isUndefined(tokenizer.decode([1, 100_000]))
      // In the normal form that the tokenizer makes of every text.
      assert.strictEqual(tokenizer.normalized("e\u0301"), "é")
      assert.isUndefined(tokenizer.encode("e\u0301"))
    })
  )
})

describe("a tokenizer with marks for spaces", () => {
  it("gives the ranges of tokens without the space that it inserts", () => {
    assert.deepStrictEqual(partsOf(sentencePiece, "<s>ab ab</s>"), ["<s>", "ab", " ab", "</s>"])
    assert.deepStrictEqual(partsOf(sentencePiece, "ab é"), ["ab", " ", "\ufffd", "\ufffd"])
    assert.deepStrictEqual(sentencePiece.encode("é")?.ends, [0, 1, 2])
  })

  it("skips white space that a token includes", () => {
    assert.deepStrictEqual(partsOf(sentencePiece, "ab</s> \nab"), ["ab", "</s>", " \nab"])
    assert.deepStrictEqual(partsOf(sentencePiece, "ab</s>  "), ["ab", "</s>"])
  })
})
