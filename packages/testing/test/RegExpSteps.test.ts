import { assert, describe, it } from "@effect/vitest"
import { families } from "../src/steps/HostileText.ts"
import { matchSteps } from "../src/steps/RegExpSteps.ts"
import { StepCounter } from "../src/steps/StepCounter.ts"
import { steepTexts } from "../src/steps/StepGrowth.ts"

/** Every construct of the grammar, some of them slow. */
const EXPRESSIONS = [
  /a/u,
  /(a|b)*c/u,
  /(a|b)*?c/u,
  /(?:a{2,3}){1,2}b?/u,
  /(?<key>\w+)\s*=\s*(["']?)(.*?)\2/u,
  /(?<=(?:\d{2})+)[a-z]/iu,
  /(?<!a)b|(?<=(a)\s?)b\1/u,
  /(?=.*\d)(?!.*x)^.{2,}$/mu,
  /\b\w+\B./gu,
  /[^\s\p{Lu}]+$/u,
  /^[ \t]*$/mu,
  /(?:)*x?|[\ud800-\udfff]/u,
  /[\ud800-\udfff]./u,
  /(a?)*?(b?){2,}(?:\1|c)/u,
  /İ|ß|[k-s]+/iu,
  /./su,
  /(?:https?:)?\/\/[^/@\s]*@(?<host>[\w.]+)/iuy
]

describe("matchSteps", () => {
  it("matches where V8 matches", () => {
    let matches = 0
    for (const expression of EXPRESSIONS) {
      for (const { name, text } of families) {
        const subject = text(24)
        for (const from of [0, 3]) {
          const copy = new RegExp(
            expression.source,
            `${expression.flags.replace(/[gy]/gu, "")}${expression.sticky ? "y" : "g"}`
          )
          copy.lastIndex = from
          const found = copy.exec(subject)
          const wanted = found === null ? undefined : ([found.index, found.index + found[0].length] as const)
          assert.deepStrictEqual(matchSteps(copy, subject, from).match, wanted, `${String(copy)} ${name}`)
          if (found !== null) matches++
        }
      }
    }
    assert.isAbove(matches, 1000)
  })
})

describe("steepTexts", () => {
  const texts = families.filter(({ name }) => /^(?:U\+0020|"a"|"a=") (?:repeated|between)/u.test(name))

  it("finds readers that are quadratic in a regular expression, a loop or a native function", async () => {
    using counter = new StepCounter()
    const { linear, quadratic } = await import("./support/readers.ts")
    assert.isAbove(texts.length, 4)
    for (const reader of quadratic) assert.isNotEmpty(await steepTexts(counter, reader, texts), reader.name)
    for (const reader of linear) assert.deepStrictEqual(await steepTexts(counter, reader, texts), [], reader.name)
  })
})
