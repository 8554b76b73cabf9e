/**
 * Kill -9 of the built server during many POSTs: acknowledged batches are there after a restart, others in full or not at
 * all. `PI_SESSIONS_KILLS` sets the number of kills.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type ServerProcess, start } from "./support/serverProcess.ts"

const KILLS = Dose.of("PI_SESSIONS_KILLS", { test: 1, campaign: 40 })
const SEED = Dose.firstSeed()
const TOKEN = "tok-5ecret-5ecret"

interface Batch {
  readonly thread: string
  readonly entries: ReadonlyArray<{ readonly id: string; readonly type: string; readonly text: string }>
}

const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" }

const post = async (url: string, { thread, entries }: Batch): Promise<boolean> => {
  try {
    const body = JSON.stringify({ entries })
    const response = await fetch(`${url}/threads/${thread}/entries`, { method: "POST", headers, body })
    const { accepted }: { readonly accepted?: number } = JSON.parse(await response.text())
    return response.status === 200 && accepted === entries.length
  } catch {
    return false
  }
}

interface Page {
  readonly entries: ReadonlyArray<{ readonly id: string }>
  readonly next: string | null
}

const readIds = async (url: string, thread: string): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (let after = "0"; ;) {
    const response = await fetch(`${url}/threads/${thread}/entries?after=${after}`, { headers })
    if (response.status === 404) return []
    const page: Page = JSON.parse(await response.text())
    ids.push(...page.entries.map(({ id }) => id))
    if (page.next === null) return ids
    after = page.next
  }
}

/** POSTs from several clients at once, and kills the server after `acknowledgements` answers. */
const bombard = async (
  server: ServerProcess,
  round: number,
  acknowledgements: number,
  random: SeededRandom.SeededRandom
) => {
  const sent: Array<Batch> = []
  const acknowledged: Array<Batch> = []
  let dead: Promise<void> | undefined
  const client = async (name: number) => {
    for (let n = 0; dead === undefined; n++) {
      const entries = Array.from({ length: 1 + random.int(20) }, (_, index) => ({
        id: `${round}:${name}:${n}:${index}`,
        type: "chat",
        text: "x".repeat(random.int(4000))
      }))
      const batch = { thread: `th_${name % 3}`, entries }
      sent.push(batch)
      if (await post(server.url, batch)) acknowledged.push(batch)
      if (acknowledged.length >= acknowledgements) dead ??= server.kill()
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, name) => client(name)))
  await dead
  return { sent, acknowledged }
}

it.live("keeps every acknowledged batch through kill -9", () =>
  Effect.gen(function* () {
    const db = Path.join(yield* temporaryFolder, "threads.sqlite")
    yield* Effect.promise(async () => {
      const random = SeededRandom.make(SEED)
      let batches = 0
      let unsure = 0
      let kept = 0
      let server = await start(db, TOKEN)
      try {
        for (let round = 0; round < KILLS; round++) {
          const { sent, acknowledged } = await bombard(server, round, 5 + random.int(40), random)
          const where = `round ${round}, seed ${SEED}`
          assert.notInclude(server.output(), TOKEN, where)
          server = await start(db, TOKEN)
          const places = new Map<string, number>()
          for (const thread of ["th_0", "th_1", "th_2"]) {
            const ids = await readIds(server.url, thread)
            assert.strictEqual(new Set(ids).size, ids.length, `${where}: ${thread} holds an id twice`)
            ids.forEach((id, index) => places.set(id, index))
          }
          const missing = (batch: Batch) => batch.entries.filter(({ id }) => !places.has(id)).length
          for (const batch of acknowledged) {
            assert.strictEqual(missing(batch), 0, `${where}: an acknowledged batch is gone`)
          }
          for (const batch of sent) {
            const gone = missing(batch)
            assert.isTrue(gone === 0 || gone === batch.entries.length, `${where}: half a batch`)
            if (gone > 0) continue
            const order = batch.entries.map(({ id }) => places.get(id) ?? -1)
            assert.deepStrictEqual(
              order,
              order.map((_, index) => (order[0] ?? -1) + index),
              where
            )
          }
          batches += acknowledged.length
          unsure += sent.length - acknowledged.length
          kept += sent.filter((batch) => !acknowledged.includes(batch) && missing(batch) === 0).length
        }
      } finally {
        await server.kill()
      }
      process.stdout.write(
        `kill -9 of the thread server: ${KILLS} rounds (seed ${SEED}), ${batches} acknowledged batches all there; ` +
          `of ${unsure} others ${kept} whole, none in part\n`
      )
      assert.isAbove(batches, 0)
    })
  })
)
