/** Redacts the texts of a file with one JSON string per line: `node redact.ts FILE WHAT`. */
import * as Fs from "node:fs"
import * as process from "node:process"
import * as Bench from "@pi-sessions/testing/Bench"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { REDACTION_RULES } from "@pi-sessions/redaction/RedactionRules"
import { SecretScanner } from "@pi-sessions/redaction/SecretScanner"

const [, , file = "", what = ""] = process.argv
const texts: ReadonlyArray<string> = Fs.readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line))

/** One regular expression of all prefixed formats, without borders, checks of values and repeated scans. */
const combined = (): ((text: string) => unknown) => {
  const sources = REDACTION_RULES.filter(({ anywhere, tier }) => tier === "prefixed" && anywhere !== true).map(
    ({ pattern }) => pattern.source.replaceAll("(?<secret>", "(?:")
  )
  const expression = new RegExp(sources.join("|"), "gu")
  return (text) => text.replace(expression, "[REDACTED]")
}

const scanner = (tier: "prefixed" | "all"): ((text: string) => unknown) => {
  const rules = REDACTION_RULES.filter((rule) => tier === "all" || rule.tier === tier)
  const scan = new SecretScanner({ rules })
  return (text) => scan.find(text)
}

const full = (): ((text: string) => unknown) => {
  const scope = new Redactor({ placeholders: new Placeholders("a key of this bench") }).scope(["/home/annabel/project"])
  return (text) => scope.text(text)
}

const WORK: { readonly [what: string]: () => (text: string) => unknown } = {
  combined,
  prefixed: () => scanner("prefixed"),
  secrets: () => scanner("all"),
  full
}

const work = WORK[what]?.()
if (work === undefined) throw new Error(`no such work: ${what}`)
await Bench.reportMedian(() => {
  for (const text of texts) work(text)
})
