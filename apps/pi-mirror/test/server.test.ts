/** The mirror in a real Pi with a thread server: absent, present, refusing its token. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { Hydrate } from "@pi-sessions/reconstruction/Hydrate"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import * as Dose from "@pi-sessions/testing/Dose"
import * as Server from "./support/server.ts"
import { type Place, bundle, make, sessionIdOf, tested } from "./support/place.ts"

const TOKEN = "secret-token-0123456789"

/** The text of all files under the place's root. */
const leftOnDisk = (place: Place): string =>
  FileSystem.readdirSync(place.pi.root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => FileSystem.readFileSync(Path.join(entry.parentPath, entry.name), "utf8"))
    .join("\n")

const hydrateFrom = (server: Server.Server, place: Place, threadId: string, sessionId: string, target: string) =>
  Effect.flatMap(Hydrate, (service) =>
    service.hydratePiSessionFromThread(threadId, place.pi.cwd, target, { mode: "lossless", sessionId, keepCwd: true })
  ).pipe(
    Effect.provide(
      Hydrate.layer.pipe(
        Layer.provide(ThreadSource.layerHttp({ url: server.url, token: Redacted.make(TOKEN) })),
        Layer.provide(FetchHttpClient.layer),
        Layer.provideMerge(NodeServices.layer)
      )
    )
  )

describe.each(tested("1.5"))("Pi %s", (version) => {
  it.live(
    "ends in time without a server, and sends the session once there is one",
    Effect.fnUntraced(function* () {
      const place = yield* make()
      // A port whose server has closed.
      const { port, url } = yield* Effect.scoped(Server.make(TOKEN))
      const env = {
        PI_MIRROR_DIR: "",
        ARBE_URL: url,
        ARBE_TOKEN: TOKEN,
        ARBE_THREAD_ID: "",
        PI_MIRROR_STATE: Path.join(place.pi.root, "state")
      }
      const file = Path.join(place.pi.sessionDir, "offline.jsonl")
      const args = ["--extension", bundle, "--session", file, "-p", "tell me of figs"]
      const offline = yield* place.pi.run(version, args, { env })
      assert.deepStrictEqual([offline.exitCode, offline.stderr], [0, ""])
      const threadId = `pi_${sessionIdOf(file)}`

      const server = yield* Server.make(TOKEN, port)
      const online = yield* place.pi.run(version, args, { env })
      assert.deepStrictEqual([online.exitCode, online.stderr], [0, ""])
      const target = Path.join(place.pi.root, "hydrated.jsonl")
      yield* hydrateFrom(server, place, threadId, sessionIdOf(file), target)
      assert.deepStrictEqual(FileSystem.readFileSync(target), FileSystem.readFileSync(file))
      assert.strictEqual(server.entries(threadId)[0]?.type, "pi.request_context")
      assert.notInclude(leftOnDisk(place), TOKEN)
    }),
    600_000
  )

  it.live(
    "reports once that its token is refused, without the token, and continues",
    Effect.fnUntraced(function* () {
      const place = yield* make()
      const server = yield* Server.make("another token")
      const env = { PI_MIRROR_DIR: "", ARBE_URL: server.url, ARBE_TOKEN: TOKEN }
      const pi = yield* place.start(version, { env })
      yield* pi.prompt("tell me of figs")
      yield* pi.prompt("tell me of dates")
      assert.strictEqual(yield* pi.stop, 0)
      const events = yield* pi.events
      const notices = events.filter(({ type }) => type === "extension_ui_request")
      assert.strictEqual(notices.length, 1)
      assert.include(JSON.stringify(notices), "refused the token")
      assert.strictEqual(server.requests(), 1)
      assert.strictEqual(yield* pi.stderr, "")
      assert.notInclude(JSON.stringify(events) + leftOnDisk(place), TOKEN)

      const args = ["--extension", bundle, "--session", Path.join(place.pi.sessionDir, "p.jsonl"), "-p", "and plums"]
      const printed = yield* place.pi.run(version, args, { env })
      assert.strictEqual(printed.exitCode, 0)
      assert.match(printed.stderr, /^pi-mirror: .*refused the token.*\n$/)
      assert.notInclude(printed.stdout + printed.stderr, TOKEN)
    }),
    600_000
  )

  it.live.skipIf(!Dose.isCampaign())(
    "does nothing without settings",
    Effect.fnUntraced(function* () {
      const place = yield* make()
      const file = Path.join(place.pi.sessionDir, "s.jsonl")
      const exit = yield* place.pi.run(version, ["--extension", bundle, "--session", file, "-p", "tell me of figs"])
      assert.deepStrictEqual([exit.exitCode, exit.stderr], [0, ""])
      assert.deepStrictEqual(
        FileSystem.readdirSync(place.pi.agentDir(version)).filter((name) => name.includes("mirror")),
        []
      )
    }),
    600_000
  )
})
