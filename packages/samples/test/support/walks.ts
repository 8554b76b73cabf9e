/** Sessions of random walks with a real Pi. */
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import * as Dose from "@pi-sessions/testing/Dose"
import { type PiVersion } from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"

export interface WalkedSession {
  readonly name: string
  readonly path: string
  readonly session: Session.Session
}

/** The sessions of as many walks as `PI_SESSIONS_WALKS` says, each of `steps` steps. */
export const walkedSessions = Effect.fnUntraced(function* (version: PiVersion, steps: number, doses: Dose.Doses) {
  const root = yield* memoryFolder
  const found: Array<WalkedSession> = []
  const first = Dose.firstSeed()
  for (let seed = first; seed < first + Dose.of("PI_SESSIONS_WALKS", doses); seed++) {
    const dir = Path.join(root, String(seed))
    const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps, dir, cwd: "/srv/project" }))
    for (const path of walk.files) {
      const name = `Pi ${version}, seed ${seed}, ${Path.basename(path)}`
      found.push({ name, path, session: Session.read(Fs.readFileSync(path)) })
    }
  }
  return found
})
