/**
 * What sessions of texts that are hard to read cost, beside an ordinary session of the same size: CPU time of the survey, the
 * cut and the lines, redacted, and how much of the limits they take.
 *
 *     node bench/hostile.bench.ts [MEGABYTES] [BEGINNING OF A FAMILY'S NAME]
 *
 * No family may cost more than 30 times as much as the ordinary session, nor exceed a limit.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as HostileSession from "@pi-sessions/testing/sessions/HostileSession"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { families } from "@pi-sessions/testing/steps/HostileText"
import { DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { type SampleOptions } from "../src/ExtractOptions.ts"
import * as SessionBudget from "@pi-sessions/core/SessionBudget"
import { SessionEvidence } from "../src/plan/SessionEvidence.ts"
import { cutSession } from "../src/parts/cutSession.ts"
import { redactorOf } from "../src/parts/redactorOf.ts"
import { toLines } from "../src/parts/sessionLines.ts"

const [megabytes = "1", beginning = ""] = process.argv.slice(2)
const bytes = Number(megabytes) * 1e6
const options: SampleOptions = { format: "messages", redaction: { key: "0".repeat(64) } }
const redactor = redactorOf(options.redaction ?? "off")

interface Cost {
  readonly name: string
  readonly ms: number
  readonly mb: number
  /** Of the limits: 1 is all. */
  readonly steps: number
  readonly bytes: number
  readonly outcome: string
}

const costOf = (name: string, file: Uint8Array): Cost => {
  const begun = process.cpuUsage()
  const limits = { maxSteps: Infinity, maxBytes: Infinity }
  const budget = SessionBudget.of(limits, file.length)
  budget.charge("read", file.length, file.length)
  const session = Session.read(file)
  const evidence = new SessionEvidence({ withSignature: true, budget })
  for (const line of session.lines) evidence.push(line)
  evidence.of("/s.jsonl")
  const ref = { path: "/s.jsonl", sizeBytes: file.length, modifiedMs: 0 }
  const selected = { ref, role: { role: "unknown", roleSource: "none" } as const, sessionId: "", timestamp: "" }
  const known = { distinct: new DistinctTargets(), redactor, fingerprints: new Set<string>(), budget }
  const { row } = toLines(cutSession(session, selected, options, new Map(), budget), known, options)
  const { system, user } = process.cpuUsage(begun)
  const defaults = SessionBudget.of({}, file.length)
  return {
    name,
    ms: (system + user) / 1000,
    mb: file.length / 1e6,
    steps: budget.steps / defaults.maxSteps,
    bytes: budget.bytes / defaults.maxBytes,
    outcome: row.outcome
  }
}

const folder = Fs.mkdtempSync("/tmp/pi-sessions-hostile-")
try {
  const file = Path.join(folder, "ordinary.jsonl")
  await LargeSession.write(file, { entries: Math.round(bytes / 6500), seed: 1, meanBytes: 6500, compactEvery: 400 })
  const ordinaryFile = Fs.readFileSync(file)
  for (let round = 0; round < 5; round++) costOf("warm-up", ordinaryFile)
  const runs = [1, 2, 3, 4, 5].map(() => costOf("ordinary", ordinaryFile)).sort((a, b) => a.ms - b.ms)
  const ordinary = runs[2] ?? costOf("ordinary", ordinaryFile)
  const perMb = ordinary.ms / ordinary.mb
  const hostile = families
    .filter(({ name }) => name.startsWith(beginning))
    .map((family) => costOf(family.name, Buffer.from(HostileSession.make({ family, bytes, seed: 1 }))))
  const line = ({ bytes, mb, ms, name, outcome, steps }: Cost): string =>
    `${(ms / mb / perMb).toFixed(1).padStart(7)} ${ms.toFixed(0).padStart(8)} ${mb.toFixed(2).padStart(7)} ${(100 * steps).toFixed(1).padStart(6)} % ${(100 * bytes).toFixed(1).padStart(6)} %  ${outcome}  ${name}\n`
  process.stdout.write("  times       ms      MB   steps    bytes  outcome  family\n")
  process.stdout.write(line(ordinary))
  for (const cost of hostile.sort((a, b) => b.ms / b.mb - a.ms / a.mb)) process.stdout.write(line(cost))
} finally {
  Fs.rmSync(folder, { recursive: true })
}
