/**
 * One wrong value in every field of the header and of every block type, message role and entry type. The doctor reports
 * that a Pi crashes, sends an invalid request or loses text if and only if that Pi does. The repaired copy opens in
 * both Pis with all readable text in the request, and needs no further repair.
 *
 * `PI_SESSIONS_FUZZ`: cases for each real Pi. `PI_SESSIONS_WRONG_VALUES`: cases that are repaired without a Pi.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiResume from "@pi-sessions/testing/pi/PiResume"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import type * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import { Effect } from "effect"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { type Does, format } from "../src/SessionFinding.ts"
import * as SessionRepair from "../src/SessionRepair.ts"
import { type WrongCase, wrongCases } from "./support/wrongValues.ts"

const PROMPT = "<prompt>"

const all = wrongCases()

/** Large, so that few cases cover all templates; prime to the number of cases, so that the seeds cover all cases. */
const STEP = 7919

const sample = (count: number): ReadonlyArray<WrongCase> =>
  Array.from({ length: Math.min(count, all.length) }, (_, at) => all[((Dose.firstSeed() + at) * STEP) % all.length]!)

const resumed = sample(Dose.of("PI_SESSIONS_FUZZ", { test: 60, campaign: 4000 }))
const repaired = sample(Dose.of("PI_SESSIONS_WRONG_VALUES", { test: 4000, campaign: all.length }))

const bytesOf = ({ entries, header, name }: WrongCase, cwd: string): Buffer => {
  const first = name.startsWith("header: cwd") ? header : { ...header, cwd }
  return Buffer.from([first, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join(""))
}

/** The image of the cases, or one whose data or type is replaced by a text. */
const IMAGE = /^data:(?:image\/png|<wrong>);base64,(?:iVBORw0KGgo=|<wrong>)$/

/** Whether a provider would reject the request: empty ids or names, results without calls, invalid images. */
const isMissent = ({ messages }: ScriptedModel.ChatRequest): boolean => {
  const open = new Set<string>()
  for (const { content, role, tool_calls, tool_call_id } of messages) {
    for (const { id, function: called } of tool_calls ?? []) {
      if (id === "" || called.name === "") return true
      open.add(id)
    }
    if (role === "tool" && !open.delete(tool_call_id ?? "")) return true
    for (const part of Array.isArray(content) ? content : []) {
      const image: unknown = part["image_url"]
      const url: unknown = typeof image === "object" && image !== null ? Reflect.get(image, "url") : undefined
      if (part.type === "image_url" && !(typeof url === "string" && IMAGE.test(url))) return true
    }
  }
  return false
}

interface Observed {
  readonly does: Does
  /** The error, or the words that the request lacks. */
  readonly how: string
}

const observed = ({ error, request }: PiResume.Resumed, words: ReadonlyArray<string>): Observed => {
  // The scripted model rejects what its schema does not allow, as a provider does.
  if (error !== undefined) return { does: /^400\b/.test(error) ? "missends" : "crashes", how: error }
  if (request === undefined) return { does: "refuses", how: "no request" }
  if (isMissent(request)) return { does: "missends", how: JSON.stringify(request.messages) }
  const sent = JSON.stringify(request.messages)
  const lost = words.filter((word) => !sent.includes(word))
  return { does: lost.length > 0 ? "loses" : "reads", how: lost.join() }
}

const STRONGEST: ReadonlyArray<Does> = ["crashes", "missends", "loses", "reads"]

describe.each(PiVersion.versions)("a session with one wrong value in Pi %s", (version) => {
  it.live("is handled as the doctor says, and its copy is read completely", () =>
    Effect.gen(function* () {
      const pi = yield* PiResume.make(version)
      const wrong: Array<string> = []
      let damaged = 0
      for (const one of resumed) {
        const words = one.words[version]
        const session = Session.read(bytesOf(one, pi.cwd))
        const findings = SessionDoctor.examine(session, { cwdExists: true })
        const said = new Set(findings.map((finding) => finding.pi[version].does))
        const says = STRONGEST.find((does) => said.has(does)) ?? "reads"
        const { does, how } = observed(yield* pi.resume(Session.toBytes(session), PROMPT), words)
        if (does !== "reads") damaged++
        if (says !== does)
          wrong.push(`${one.name}: Pi ${does} (${how}), the doctor says ${says}: ${findings.map(format).join("; ")}`)
        const copy = Session.toBytes(SessionRepair.repair(session).session)
        const after = observed(yield* pi.resume(copy, PROMPT), [...words, PROMPT])
        if (after.does !== "reads") wrong.push(`${one.name}: Pi ${after.does} in the copy (${after.how})`)
      }
      process.stdout.write(
        `DoctorWrongValues: Pi ${version}, ${resumed.length} of ${all.length} cases, ${damaged} damaged\n`
      )
      assert.deepStrictEqual(wrong, [])
      assert.isAtLeast(damaged * 5, resumed.length, "many values are damage")
    })
  )
})

describe("the copy of a session with one wrong value", () => {
  it("has no errors, needs no repair, and contains the ids that the repair reports", () => {
    const wrong: Array<string> = []
    for (const one of repaired) {
      const { session, changes } = SessionRepair.repair(Session.read(bytesOf(one, "/x")))
      const copy = Session.read(Session.toBytes(session))
      const left = SessionDoctor.examine(copy).filter(({ severity, mend }) => severity === "error" || mend !== null)
      const again = SessionRepair.repair(copy).changes.map(({ what }) => what)
      if (left.length + again.length > 0)
        wrong.push(`${one.name}: left ${left.map(format).join("; ")}; again ${again.join("; ")}`)
      const named = changes.flatMap(({ entryId }) => entryId ?? [])
      const gone = named.filter((id) => copy.tree.getEntry(id) === undefined)
      if (gone.length > 0) wrong.push(`${one.name}: ${gone.join()} not in the copy`)
    }
    assert.deepStrictEqual(wrong, [])
  })
})
