/** Generates many sessions, among them forks and near-duplicates of others. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as Sessions from "./sessions.ts"

const VOCABULARY = Array.from({ length: 4000 }, (_, at) => `w${at.toString(36)}`)

export const wordOf = (random: SeededRandom.SeededRandom): string => VOCABULARY[random.int(VOCABULARY.length)] ?? ""

export const words = (random: SeededRandom.SeededRandom, count: number): string =>
  Array.from({ length: count }, () => wordOf(random)).join(" ")

export interface Made {
  readonly id: string
  /** Id of the session that this one is a fork or near-duplicate of, or its own. */
  readonly origin: string
  readonly kind: "original" | "fork" | "near-duplicate"
  readonly lines: ReadonlyArray<string>
}

const ROLES: readonly [string, ...ReadonlyArray<string>] = [
  "/home/u/gt/deacon",
  "/home/u/gt/mayor",
  "/home/u/gt/gastown/witness",
  "/home/u/src/app"
]

/** Generates sessions, of which about one in seven is a fork and one in seven a near-duplicate. */
export const generate = (count: number, seed: number): ReadonlyArray<Made> => {
  const random = SeededRandom.make(seed)
  const made: Array<Made> = []
  for (let n = 0; n < count; n++) {
    const id = `s${seed}-${n}`
    const header = (more: object) =>
      JSON.stringify({
        ...Sessions.header({
          id,
          cwd: random.pick(ROLES),
          timestamp: new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString()
        }),
        ...more
      })
    const entry = (at: number, payload: object): string =>
      JSON.stringify({
        ...payload,
        id: `${id}-${at}`,
        parentId: at === 0 ? null : `${id}-${at - 1}`,
        timestamp: "2026-01-05T10:00:00.000Z"
      })
    const kind = made.length === 0 ? 0.9 : random.int(100) / 100
    const parent = made[random.int(Math.max(1, made.length))]
    if (kind < 0.15 && parent !== undefined) {
      const kept = parent.lines.slice(1, 2 + random.int(parent.lines.length - 1))
      const leaf = kept.length
      const added = [
        entry(leaf, Sessions.user(words(random, 30))),
        entry(leaf + 1, Sessions.assistant([Sessions.text(words(random, 40))]))
      ]
      const lines = [header({ parentSession: `/elsewhere/${parent.id}.jsonl` }), ...kept, ...added]
      made.push({ id, origin: parent.origin, kind: "fork", lines })
    } else if (kind < 0.3 && parent !== undefined) {
      const lines = parent.lines
        .slice(1)
        .map((line) => line.replace(/w[0-9a-z]+/u, "another").replaceAll(parent.id, id))
      made.push({ id, origin: parent.origin, kind: "near-duplicate", lines: [header({}), ...lines] })
    } else {
      const turns = 2 + random.int(4)
      const lines = Array.from({ length: turns * 2 }, (_, at) =>
        entry(
          at,
          at % 2 === 0 ? Sessions.user(words(random, 60)) : Sessions.assistant([Sessions.text(words(random, 80))])
        )
      )
      made.push({ id, origin: id, kind: "original", lines: [header({}), ...lines] })
    }
  }
  return made
}

export const write = (folder: string, sessions: ReadonlyArray<Made>): void => {
  Fs.mkdirSync(folder, { recursive: true })
  for (const { id, lines } of sessions) Fs.writeFileSync(Path.join(folder, `${id}.jsonl`), `${lines.join("\n")}\n`)
}
