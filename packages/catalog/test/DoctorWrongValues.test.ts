/**
 * One wrong value in every field of the header and of every block type, message role and entry type, against both real Pis. The doctor
 * says that a Pi crashes, sends what no provider takes, or loses text if and only if that Pi does. The repaired copy
 * opens in both Pis with all readable text in the request, and has nothing left to mend.
 *
 * `PI_SESSIONS_FUZZ` says how many of the cases the real Pis try; what needs no Pi tries them all.
 */
import { assert, describe, it } from "@effect/vitest"
import * as PiResume from "@pi-sessions/testing/PiResume"
import * as PiVersion from "@pi-sessions/testing/PiVersion"
import type * as ScriptedModel from "@pi-sessions/testing/ScriptedModel"
import { Effect } from "effect"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { type Does, format } from "../src/SessionFinding.ts"
import * as SessionRepair from "../src/SessionRepair.ts"
import { type WrongCase, wrongCases } from "./support/wrongValues.ts"

const PROMPT = "<prompt>"

const CASES = Number(process.env["PI_SESSIONS_FUZZ"] ?? 150)
const FIRST = Number(process.env["PI_SESSIONS_SEED"] ?? 1)

const all = wrongCases()

/** Far enough apart that a few cases see all templates, prime to the number of cases so that enough see all of them. */
const STEP = 7919

const chosen = Array.from({ length: Math.min(CASES, all.length) }, (_, at) => all[((FIRST + at) * STEP) % all.length]!)

const bytesOf = ({ entries, header, name }: WrongCase, cwd: string): Buffer => {
  const first = name.startsWith("header: cwd") ? header : { ...header, cwd }
  return Buffer.from([first, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join(""))
}

/** The image of the cases, or one whose data or type is another text. */
const IMAGE = /^data:(?:image\/png|<wrong>);base64,(?:iVBORw0KGgo=|<wrong>)$/

/** A provider would not take it: ids and names that are empty, results without calls, images that are none. */
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
  /** The error, or the words that are not in the request. */
  readonly how: string
}

const observed = ({ error, request }: PiResume.Resumed, words: ReadonlyArray<string>): Observed => {
  // The model of the tests takes only what its schema knows, as a provider does.
  if (error !== undefined) return { does: /^400\b/.test(error) ? "missends" : "crashes", how: error }
  if (request === undefined) return { does: "refuses", how: "no request" }
  if (isMissent(request)) return { does: "missends", how: JSON.stringify(request.messages) }
  const sent = JSON.stringify(request.messages)
  const lost = words.filter((word) => !sent.includes(word))
  return { does: lost.length > 0 ? "loses" : "reads", how: lost.join() }
}

const STRONGEST: ReadonlyArray<Does> = ["crashes", "missends", "loses", "reads"]

describe.each(PiVersion.versions)("a session with one wrong value in Pi %s", (version) => {
  it.live(
    "does what the doctor says, and its copy is read whole",
    () =>
      Effect.gen(function* () {
        const pi = yield* PiResume.make(version)
        const wrong: Array<string> = []
        let damaged = 0
        for (const one of chosen) {
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
          `DoctorWrongValues: Pi ${version}, ${chosen.length} of ${all.length} cases, ${damaged} damaged\n`
        )
        assert.deepStrictEqual(wrong, [])
        if (CASES >= 100) assert.isAtLeast(damaged * 5, chosen.length, "many of them are damage")
      }),
    7_200_000
  )
})

describe("the copy of a session with one wrong value", () => {
  it("has no errors, nothing to mend, and the ids that the repair names", () => {
    const wrong: Array<string> = []
    for (const one of all) {
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
