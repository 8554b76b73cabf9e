/**
 * Makes `fixtures/models`: directories as models have them, with tokenizers of some hundred tokens, trained on the
 * sessions of the fixtures, and chat templates written for them. No model has these tokenizers; the templates behave as
 * those of well-known families do, and are not theirs.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"

const FIXTURES = Path.resolve(import.meta.dirname, "../../../fixtures")
const MERGES = 600

/** The characters that stand for bytes in byte-level vocabularies. */
const alphabet = (): ReadonlyArray<string> => {
  let next = 0x100
  return Array.from({ length: 0x100 }, (_, byte) => {
    const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
    return String.fromCharCode(isPrintable ? byte : next++)
  })
}
const ALPHABET = alphabet()

const filesIn = (directory: string): ReadonlyArray<string> =>
  Fs.readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => Fs.readFileSync(Path.join(directory, name), "utf8"))

/** Words with the blank before them, and how often each is there. */
const wordsOf = (texts: ReadonlyArray<string>): Map<string, number> => {
  const words = new Map<string, number>()
  for (const text of texts) {
    for (const [word] of text.matchAll(/ ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+/gu)) {
      const symbols = [...Buffer.from(word)].map((byte) => ALPHABET[byte]).join("")
      words.set(symbols, (words.get(symbols) ?? 0) + 1)
    }
  }
  return words
}

/** Byte pair encoding as it was published: the most frequent pair becomes a token, again and again. */
const train = (counts: ReadonlyMap<string, number>): ReadonlyArray<readonly [string, string]> => {
  const words = [...counts].map(([word, count]) => ({ symbols: [...word], count }))
  const merges: Array<readonly [string, string]> = []
  while (merges.length < MERGES) {
    const pairs = new Map<string, number>()
    for (const { count, symbols } of words) {
      for (let i = 1; i < symbols.length; i++) {
        const pair = `${symbols[i - 1]} ${symbols[i]}`
        pairs.set(pair, (pairs.get(pair) ?? 0) + count)
      }
    }
    const [best] = [...pairs].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    if (best === undefined || best[1] < 2) break
    const [left = "", right = ""] = best[0].split(" ")
    merges.push([left, right])
    for (const word of words) {
      for (let i = 1; i < word.symbols.length; i++) {
        if (word.symbols[i - 1] === left && word.symbols[i] === right) word.symbols.splice(i - 1, 2, left + right)
      }
    }
  }
  return merges
}

const GPT2 = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true }

/** Words, single digits, punctuation with the line breaks behind it, blanks: as newer models part texts. */
const LATER = {
  type: "Sequence",
  pretokenizers: [
    {
      type: "Split",
      pattern: {
        Regex:
          "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
      },
      behavior: "Isolated",
      invert: false
    },
    { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false }
  ]
}

interface Model {
  readonly name: string
  readonly special: ReadonlyArray<string>
  /** Tokens that are text to the model. */
  readonly plain: ReadonlyArray<string>
  readonly preTokenizer: object
  readonly normalizer: object | null
  readonly config: object
  readonly template: string
  readonly isInConfig?: boolean
}

const MODELS: ReadonlyArray<Model> = [
  {
    name: "chatml-marked",
    special: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    plain: [],
    preTokenizer: GPT2,
    normalizer: null,
    config: { eos_token: "<|im_end|>", pad_token: "<|endoftext|>", model_max_length: 32768 },
    template: `{%- if tools %}
{{- '<|im_start|>system\\nTools: ' + (tools | tojson) + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}
            {%- if message.reasoning_content %}
                {{- '<think>' + message.reasoning_content + '</think>' }}
            {%- endif %}
            {{- message.content }}
            {%- for call in message.tool_calls or [] %}
                {{- '<call>' + call.function.name + ' ' + (call.function.arguments | tojson) + '</call>' }}
            {%- endfor %}
            {{- '<|im_end|>' }}
        {%- endgeneration %}
        {{- '\\n' }}
    {%- else %}
        {{- message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
`
  },
  {
    name: "drops-thinking",
    special: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    plain: ["<tool_call>", "</tool_call>", "<think>", "</think>"],
    preTokenizer: LATER,
    normalizer: { type: "NFC" },
    config: { eos_token: "<|im_end|>", pad_token: "<|endoftext|>", bos_token: null, model_max_length: 40960 },
    template: `{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- '# Tools' }}
    {%- for tool in tools %}
        {{- '\\n' }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set last = namespace(query=0) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set last.query = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content | trim %}
        {%- endif %}
        {%- if loop.index0 > last.query and (loop.last or thought) %}
            {{- '<think>\\n' + thought + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- message.content | trim }}
        {%- for call in message.tool_calls or [] %}
            {%- if message.content or not loop.first %}
                {{- '\\n' }}
            {%- endif %}
            {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
`
  },
  {
    name: "one-call",
    special: ["<|begin|>", "<|end|>", "<|header|>", "<|end_header|>", "<|turn|>"],
    plain: [],
    preTokenizer: LATER,
    normalizer: null,
    config: {
      bos_token: { content: "<|begin|>", lstrip: false, rstrip: false, normalized: false, single_word: false },
      eos_token: "<|turn|>",
      model_max_length: 1e30
    },
    isInConfig: true,
    template: `{{- bos_token }}
{{- '<|header|>system<|end_header|>\\n\\nToday: ' + strftime_now('%d %b %Y') }}
{%- if messages[0].role == 'system' %}
    {{- '\\n\\n' + messages[0].content | trim }}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- if tools is not none %}
    {%- for tool in tools %}
        {{- '\\n\\n' + tool | tojson(indent=4) }}
    {%- endfor %}
{%- endif %}
{{- '<|turn|>' }}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|header|>ipython<|end_header|>\\n\\n' + message.content | tojson + '<|turn|>' }}
    {%- elif message.tool_calls is defined and message.tool_calls %}
        {%- if message.tool_calls | length != 1 %}
            {{- raise_exception('one call at a time') }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<|header|>assistant<|end_header|>\\n\\n' + message.content | trim }}
        {{- '{"name": "' + call.name + '", "parameters": ' + call.arguments | tojson + '}<|turn|>' }}
    {%- else %}
        {{- '<|header|>' + message.role + '<|end_header|>\\n\\n' + message.content | trim + '<|turn|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|header|>assistant<|end_header|>\\n\\n' }}
{%- endif %}
`
  }
]

const merges = train(wordsOf(filesIn(Path.join(FIXTURES, "sessions"))))
const words = [...ALPHABET.toSorted((a, b) => (a < b ? -1 : 1)), ...merges.map((pair) => pair.join(""))]

const addedToken = (content: string, special: boolean, id: number) => {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }
}

for (const { config, isInConfig, name, normalizer, plain, preTokenizer, special, template } of MODELS) {
  const directory = Path.join(FIXTURES, "models", name)
  Fs.mkdirSync(directory, { recursive: true })
  const added = [
    ...special.map((content) => [content, true] as const),
    ...plain.map((content) => [content, false] as const)
  ].map(([content, isSpecial], at) => addedToken(content, isSpecial, words.length + at))
  const tokenizer = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer,
    pre_tokenizer: preTokenizer,
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(words.map((word, id) => [word, id])),
      merges: merges.map((pair) => pair.join(" "))
    }
  }
  const write = (file: string, text: string) => Fs.writeFileSync(Path.join(directory, file), text)
  write("tokenizer.json", `${JSON.stringify(tokenizer, null, 1)}\n`)
  const inConfig = isInConfig === true ? { chat_template: template } : {}
  write("tokenizer_config.json", `${JSON.stringify({ ...config, ...inConfig }, null, 2)}\n`)
  if (isInConfig !== true) write("chat_template.jinja", template)
}
