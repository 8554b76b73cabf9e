/** Session files left by random walks through both real Pis. */
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"

const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 5, campaign: 100 })

/** The files exist until the scope closes. */
export const walked = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const found: Array<{ readonly name: string; readonly file: string; readonly session: Session.Session }> = []
  for (const version of PiVersion.versions) {
    for (let seed = Dose.firstSeed(); seed < Dose.firstSeed() + WALKS; seed++) {
      const dir = Path.join(root, `${version}-${seed}`)
      const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv/project" }))
      for (const file of walk.files) {
        found.push({ name: `Pi ${version}, seed ${seed}`, file, session: Session.read(Fs.readFileSync(file)) })
      }
    }
  }
  return found
})
