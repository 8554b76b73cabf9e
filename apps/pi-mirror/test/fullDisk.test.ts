/** The mirror in a real Pi when the disk of its threads and state is full. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as FullDisk from "@pi-sessions/testing/disk/FullDisk"
import { bundle, hydrate, linesOf, make, sessionIdOf, tested } from "./support/place.ts"

const refused = FullDisk.refusal() !== undefined

describe.skipIf(refused).each(tested("1.5"))("Pi %s, with the mirror's threads and state on a full disk", (version) => {
  it.live(
    "works as without a mirror and shows one notice, and the next start sends everything",
    Effect.fnUntraced(function* () {
      const disk = yield* FullDisk.make(1 << 20)
      const place = { ...(yield* make()), threads: Path.join(disk.root, "threads") }
      const env = { PI_MIRROR_DIR: place.threads, PI_MIRROR_STATE: Path.join(disk.root, "state") }
      const file = Path.join(place.pi.sessionDir, "full.jsonl")
      disk.fill(4096)
      const pi = yield* place.start(version, {
        args: ["--session", file],
        env: { ...env, PI_MIRROR_FLUSH: "1 second" }
      })
      yield* pi.prompt("please write the file")
      // The notice comes after three attempts.
      const notice = yield* pi.event(({ type }) => type === "extension_ui_request")
      yield* pi.prompt("tell me of figs")
      assert.strictEqual(yield* pi.stop, 0)
      assert.strictEqual(yield* pi.stderr, "")
      const events = yield* pi.events
      assert.deepStrictEqual(
        events.filter(({ type }) => type === "extension_error"),
        []
      )
      assert.deepStrictEqual(
        events.filter(({ type }) => type === "extension_ui_request"),
        [notice]
      )
      const thread = Path.join(place.threads, `${place.threadId}.jsonl`)
      assert.include(JSON.stringify(notice), `${thread} cannot be written: the disk is full (ENOSPC)`)
      const roles = linesOf(file).flatMap(({ message }) => (message as { role?: string } | undefined)?.role ?? [])
      const said = roles.filter((role) => role !== "system")
      assert.deepStrictEqual(said, ["user", "assistant", "toolResult", "assistant", "user", "assistant"])

      const args = ["--extension", bundle, "--session", file, "-p", "and plums"]
      const printed = yield* place.pi.run(version, args, {
        env: { ...env, ARBE_THREAD_ID: place.threadId, PI_MIRROR_FLUSH: "1 second" }
      })
      assert.deepStrictEqual([printed.exitCode, printed.stderr], [0, ""])

      disk.free()
      const last = yield* place.start(version, { args: ["--session", file], env })
      yield* last.request({ type: "get_state" })
      assert.strictEqual(yield* last.stop, 0)
      const target = Path.join(place.pi.root, "hydrated.jsonl")
      yield* hydrate(place, sessionIdOf(file), target)
      assert.deepStrictEqual(FileSystem.readFileSync(target), FileSystem.readFileSync(file))
      assert.include(FileSystem.readFileSync(file, "utf8"), "and plums")
    }),
    600_000
  )
})
