/**
 * Compares tree, branches, labels and contexts of files that the real Pis wrote with those of the real Pis.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "../src/Session.ts"
import * as files from "./support/files.ts"
import { asPiHasIt, compare } from "./support/piAgreement.ts"
import * as settings from "./support/settings.ts"
import * as WildSession from "./support/wildSession.ts"
import { files as walkFiles, pis } from "./support/walks.ts"

describe.each(PiVersion.versions)("random walks of Pi %s", (version) => {
  it.effect(
    "are read as by both real Pis",
    Effect.fnUntraced(function* () {
      const count = settings.walks(20)
      const found = yield* walkFiles(version, count)
      for (const pi of yield* pis) {
        let compared = 0
        for (const { name, path, session, random } of found) {
          const manager = pi.SessionManager.open(path)
          compare({ name: `${name}, read by Pi ${pi.version}`, pi, manager, session, random, samples: 6 })
          compared++
        }
        assert.isAtLeast(compared, count)
        settings.note(
          `PiAgreement: ${compared} sessions of ${count} walks of Pi ${version} agree with Pi ${pi.version}`
        )
      }
    })
  )

  it.effect(
    "have every entry type that Pi writes",
    Effect.fnUntraced(function* () {
      const sessions = (yield* walkFiles(version, 60)).map(({ session }) => session)
      const entries = sessions.flatMap(({ tree }) => tree.getEntries())
      const types = new Set(entries.map(({ type }) => type))
      const roles = new Set(entries.flatMap(({ role }) => role ?? []))
      const newer = version === "0.78" ? [] : ["usage", "context_edit"]
      assert.sameMembers(
        [...types],
        [
          "message",
          "thinking_level_change",
          "model_change",
          "compaction",
          "branch_summary",
          "custom",
          "custom_message",
          "label",
          "session_info",
          ...newer
        ]
      )
      assert.sameMembers(
        [...roles],
        ["user", "assistant", "toolResult", "bashExecution", ...(version === "0.78" ? [] : ["system"])]
      )
      // What 0.78 forks behind a label has lost its parent.
      const codes = new Set(sessions.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code)))
      assert.deepStrictEqual([...codes], version === "0.78" ? ["unknown-parent"] : [])
    })
  )
})

describe.each(PiVersion.versions)("files that no Pi wrote, read by Pi %s", (version) => {
  it.effect.each([1, 2, 3, undefined] as const)(
    "are read in the same way, in version %s of the format",
    Effect.fnUntraced(function* (formatVersion) {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const path = Path.join(yield* temporaryFolder, "wild.jsonl")
      const count = settings.walks(40)
      for (const seed of settings.seeds(count)) {
        const random = SeededRandom.make(seed)
        const text = WildSession.make(random, formatVersion)
        Fs.writeFileSync(path, text)
        const manager = pi.SessionManager.open(path)
        const session = asPiHasIt(Session.readText(text))
        compare({ name: `Pi ${version}, seed ${seed}`, pi, manager, session, random, samples: 6 })
      }
      assert.isTrue(Fs.existsSync(path))
      settings.note(
        `PiAgreement: ${count} made-up sessions of version ${formatVersion ?? "none"} agree with Pi ${version}`
      )
    })
  )
})

describe.each(PiVersion.versions)("the corpus, read by Pi %s", (version) => {
  it.effect(
    "is read in the same way",
    Effect.fnUntraced(function* () {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const dir = yield* temporaryFolder
      const paths = files.corpus()
      let compared = 0
      const passedOver: Array<string> = []
      for (const [at, path] of paths.entries()) {
        const session = Session.read(Fs.readFileSync(path))
        const asPi = Session.asPiReads(session)
        const trouble = session.diagnostics.find(({ code }) =>
          ["cycle", "not-an-object", "missing-id", "header-not-first", "bom"].includes(code)
        )
        if (asPi.header === undefined || trouble !== undefined) {
          passedOver.push(`${path}: ${trouble?.code ?? "missing-header"}`)
          continue
        }
        // Pi rewrites old sessions in place.
        const copy = Path.join(dir, `${at}.jsonl`)
        Fs.copyFileSync(path, copy)
        const manager = pi.SessionManager.open(copy)
        const random = SeededRandom.make(settings.firstSeed() + at)
        const samples = settings.isCampaign() && asPi.lines.length <= 2000 ? 20 : 2
        compare({ name: path, pi, manager, session: asPiHasIt(session), random, samples })
        Fs.rmSync(copy)
        compared++
      }
      assert.strictEqual(compared + passedOver.length, paths.length)
      if (paths.length > 0) {
        settings.note(`PiAgreement: ${compared} sessions of the corpus agree with Pi ${version}`)
        for (const reason of passedOver) settings.note(`PiAgreement: passed over ${reason}`)
      }
    })
  )
})
