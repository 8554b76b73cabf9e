/** Which parts are learnt under templates of other kinds than the fixtures have, and why an answer is not. */
import * as Jinja from "@huggingface/jinja"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type AssistantMessage, type ChatMessage } from "../src/chat/ChatMessages.ts"
import { ChatTemplate, type Conversation } from "../src/model/ChatTemplate.ts"
import { type LocalModel } from "../src/model/LocalModel.ts"
import * as LossMask from "../src/model/LossMask.ts"
import { load } from "./support/models.ts"

/** A model of the fixtures with another template. */
const modelOf = (template: string) =>
  Effect.map(load("chatml-marked"), (model): LocalModel => ({
    ...model,
    template: new ChatTemplate(Jinja, { default: template }, {})
  }))

const user = (content: string): ChatMessage => ({ role: "user", content })
const says = (content: string, more: Partial<AssistantMessage> = {}): ChatMessage => {
  return { role: "assistant", content, ...more }
}
const calls = (...args: ReadonlyArray<{ readonly [key: string]: string | number | boolean | null }>) => {
  const [first, ...others] = args.map((given, at) => {
    return { id: `c${at}`, type: "function" as const, function: { name: "run", arguments: given } }
  })
  return first === undefined ? {} : { tool_calls: [first, ...others] as const }
}

const conversation = (...messages: ReadonlyArray<ChatMessage>): Conversation => {
  return { messages, tools: [], date: new Date(0) }
}

/** What is learnt, or why not, answer by answer. */
const found = (template: string, given: Conversation, targets?: ReadonlyArray<number>) =>
  Effect.map(modelOf(template), (model) => {
    const all = given.messages.flatMap(({ role }, at) => (role === "assistant" ? [at] : []))
    const { answers, text } = LossMask.find(given, targets ?? all, model)
    return answers.map((one): string | { readonly no: string } =>
      one._tag === "Learnt" ? text.slice(one.span.start, one.span.end) : { no: one.reason }
    )
  })

const PLAIN = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

const with_ = (
  answer: string
) => `{% for m in messages %}{% if m.role == 'assistant' %}${answer}{% else %}U: {{ m.content }}
{% endif %}{% endfor %}{% if add_generation_prompt %}A: {% endif %}`

describe("the loss mask", () => {
  it.effect("covers the targets, each with the end of its turn, and nothing else", () =>
    Effect.gen(function* () {
      const given = conversation(user("a"), says("one"), user("b"), says("two\n"))
      assert.deepStrictEqual(yield* found(PLAIN, given), ["one<|im_end|>", "two\n<|im_end|>"])
      assert.deepStrictEqual(yield* found(PLAIN, given, [3]), ["two\n<|im_end|>"])
    })
  )

  it.effect("finds answers whose text also occurs in other answers, the context or the thinking", () =>
    Effect.gen(function* () {
      const template = with_(
        `A: {% if m.reasoning_content and loop.last %}({{ m.reasoning_content }}){% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}<|im_end|>
`
      )
      const same = { reasoning_content: "x", ...calls({ a: "x", b: "run", c: "x" }) }
      const given = conversation(user("x"), says("x", same), user("x"), says("x", same))
      const call = '[run {"a": "x", "b": "run", "c": "x"}]<|im_end|>'
      assert.deepStrictEqual(yield* found(template, given), [{ no: "lost_reasoning" }, `(x)x${call}`])
      assert.deepStrictEqual(yield* found(template.replace(" and loop.last", ""), given), [
        `(x)x${call}`,
        `(x)x${call}`
      ])
    })
  )

  it.effect("uses a template's own marks, which must enclose each answer once", () =>
    Effect.gen(function* () {
      const given = conversation(user("a"), says("one"), user("b"), says("two"))
      const answer = (inner: string) =>
        with_(`A: ${inner}
`)
      const whole = answer("{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}")
      assert.deepStrictEqual(yield* found(whole, given), ["one<|im_end|>", "two<|im_end|>"])
      const withoutEnd = answer("{% generation -%} {{ m.content }} {%- endgeneration %}<|im_end|>")
      assert.deepStrictEqual(yield* found(withoutEnd, given), ["one", "two"])
      const none = [{ no: "lost_answer" }, { no: "lost_answer" }]
      const twice = answer("{% generation %}{{ m.content }}{% endgeneration %}{% generation %}.{% endgeneration %}")
      assert.deepStrictEqual(yield* found(twice, given), none)
      const around = answer("{{ m.content }}{% generation %}<|im_end|>{% endgeneration %}")
      assert.deepStrictEqual(yield* found(around, given), none)
    })
  )

  it.effect("includes what the template writes after an answer, even if it is not a control token", () =>
    Effect.gen(function* () {
      const given = conversation(user("a"), says("one"), user("b"), says("two"))
      assert.deepStrictEqual(yield* found(with_("A: {{ m.content }}.\n"), given), ["one.\n", "two.\n"])
      // Another end behind a call, and one that depends on what comes last in it.
      const template = with_(
        "A: {{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}[{{ c.function.arguments | tojson }}]{% endfor %}{{ '<|endoftext|>' if m.tool_calls else '<|im_end|>' }}\n"
      )
      const mixed = conversation(
        user("a"),
        says("", calls({ s: "x" })),
        user("b"),
        says("y", calls({ s: "x", n: 1 }, { t: true })),
        user("c"),
        says("z")
      )
      assert.deepStrictEqual(yield* found(template, mixed), [
        'run[{"s": "x"}]<|endoftext|>',
        'yrun[{"s": "x", "n": 1}]run[{"t": true}]<|endoftext|>',
        "z<|im_end|>"
      ])
    })
  )

  it.effect("gives arguments as text to a template that refuses objects", () =>
    Effect.gen(function* () {
      const given = conversation(user("a"), says("", calls({ s: 'an "x"', n: 1 })), user("b"), says("y"))
      const template = with_(
        "A: {% for c in m.tool_calls or [] %}{{ c.function.name + ' ' + c.function.arguments }}{% endfor %}{{ m.content }}<|im_end|>\n"
      )
      const said = ['run {"s":"an \\"x\\"","n":1}<|im_end|>', "y<|im_end|>"]
      assert.deepStrictEqual(yield* found(template, given), said)
      const both = template.replace("c.function.arguments", "(c.function.arguments | tojson)")
      assert.deepStrictEqual((yield* found(both, given))[0], 'run {"s": "an \\"x\\"", "n": 1}<|im_end|>')
    })
  )

  it.effect("refuses answers whose context differs from the model's input", () =>
    Effect.gen(function* () {
      const given = conversation(user("a"), says("one"), user("b"), says("two"))
      const counts = `{{ messages | length }}${PLAIN}`
      assert.deepStrictEqual(yield* found(counts, given), [{ no: "changed_context" }, { no: "changed_context" }])
      const thinks = PLAIN.replace("assistant\n{% endif", "assistant\n<think>{% endif")
      assert.deepStrictEqual(yield* found(thinks, given), [{ no: "changed_context" }, { no: "changed_context" }])
    })
  )

  it.effect("refuses answers that the rendered text does not contain unchanged", () =>
    Effect.gen(function* () {
      const given = conversation(user("a"), says("One", calls({ path: "A", n: 7 })))
      const lost = [{ no: "lost_answer" }]
      const rendering = (args: string) =>
        with_(`A: {{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}${args}{% endfor %}<|im_end|>`)
      const python = "{% for k, v in c.function.arguments | items %}{{ k }}={{ v }};{% endfor %}"
      assert.deepStrictEqual(yield* found(rendering(python), given), ["Onerunpath=A;n=7;<|im_end|>"])
      assert.deepStrictEqual(yield* found(rendering(""), given), lost)
      assert.deepStrictEqual(yield* found(rendering("{{ c.function.arguments.path }}"), given), lost)
      assert.deepStrictEqual(yield* found(with_("A: {{ m.content | lower }}<|im_end|>"), given), lost)
      assert.deepStrictEqual(yield* found(with_("A: {{ m.content[:2] }}<|im_end|>"), given), lost)
      assert.deepStrictEqual(yield* found(with_("A: {{ m.content }}{{ m.content | length }}"), given), lost)
    })
  )

  it.effect("refuses with the template's error, and refuses control tokens", () =>
    Effect.gen(function* () {
      const given = conversation(user("a"), says("one"))
      const model = yield* modelOf("{{ raise_exception('no users') }}")
      assert.deepStrictEqual(LossMask.find(given, [1], model), {
        text: "",
        answers: [{ _tag: "Refused", message: 1, reason: "template_refused" }],
        withoutReasoning: 0,
        detail: "no users"
      })
      const steering = conversation(user("a"), says("one", calls({ x: "<|im_start|>" })))
      assert.deepStrictEqual(yield* found(PLAIN, steering), [{ no: "control_token" }])
      assert.deepStrictEqual(yield* found(PLAIN, conversation(user("a"), says("\ufdd0"))), [{ no: "lost_answer" }])
    })
  )
})
