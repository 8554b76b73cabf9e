/** Finds session directories from Pi's environment and settings, in homes that each test writes. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SessionDiscovery from "../src/SessionDiscovery.ts"

/** A home to write to, discovery in it, and the files that discovery opens. */
const workbench = Effect.gen(function* () {
  const home = yield* temporaryFolder
  const opened: Array<string> = []
  const watched = Effect.map(FileSystem.FileSystem, (fs) => ({
    ...fs,
    readFile: (path: string) => {
      opened.push(path)
      return fs.readFile(path)
    },
    readFileString: (path: string, encoding?: string) => {
      opened.push(path)
      return fs.readFileString(path, encoding)
    },
    open: (path: string, options?: Parameters<typeof fs.open>[1]) => {
      opened.push(path)
      return fs.open(path, options)
    }
  }))
  const make = (...names: ReadonlyArray<string>): void => {
    for (const name of names) Fs.mkdirSync(Path.join(home, name), { recursive: true })
  }
  const write = (name: string, content: string): void => {
    make(Path.dirname(name))
    Fs.writeFileSync(Path.join(home, name), content)
  }
  const discover = (env: { readonly [name: string]: string } = {}, options: SessionDiscovery.DiscoveryOptions = {}) =>
    SessionDiscovery.discover({ cwd: home, ...options }).pipe(
      Effect.map(({ missing, roots }) => {
        const brief = (all: ReadonlyArray<SessionDiscovery.SessionRoot>) =>
          all.map(({ path, why }) => [Path.relative(home, path), why] as const)
        return { roots: brief(roots), missing: brief(missing) }
      }),
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ HOME: home, ...env }))),
      Effect.provide(Layer.provideMerge(Layer.effect(FileSystem.FileSystem, watched), NodeServices.layer))
    )
  return { home, make, write, discover, opened }
})

const DEFAULT = [".pi/agent/sessions", "default"] as const

describe("SessionDiscovery", () => {
  it.effect("finds Pi's default directory, and reports it as missing if there is none", () =>
    Effect.gen(function* () {
      const { discover, make } = yield* workbench
      assert.deepStrictEqual(yield* discover(), { roots: [], missing: [DEFAULT] })
      make(".pi/agent/sessions")
      assert.deepStrictEqual(yield* discover(), { roots: [DEFAULT], missing: [] })
    })
  )

  it.effect("lists every directory that Pi could have used, the present one first", () =>
    Effect.gen(function* () {
      const { discover, make, write } = yield* workbench
      write("agent/settings.json", JSON.stringify({ theme: "dark", sessionDir: "~/from-settings" }))
      make("from-settings", "from-env", "agent/sessions")
      const env = { PI_CODING_AGENT_DIR: "~/agent", PI_CODING_AGENT_SESSION_DIR: "~/from-env" }
      assert.deepStrictEqual(yield* discover(env), {
        roots: [
          ["from-env", "PI_CODING_AGENT_SESSION_DIR"],
          ["from-settings", "settings.json"],
          ["agent/sessions", "default"]
        ],
        missing: []
      })
    })
  )

  it.effect("uses explicit paths only, even if they do not exist", () =>
    Effect.gen(function* () {
      const { discover, home, make } = yield* workbench
      make(".pi/agent/sessions", "project/here")
      const sessions = ["here", "~/gone.jsonl", Path.join(home, "project", "here", "..", "here")]
      assert.deepStrictEqual(
        yield* discover({ PI_CODING_AGENT_SESSION_DIR: "~/from-env" }, { sessions, cwd: Path.join(home, "project") }),
        {
          roots: [
            ["project/here", "--sessions"],
            ["gone.jsonl", "--sessions"]
          ],
          missing: []
        }
      )
    })
  )

  it.effect("lists each directory once", () =>
    Effect.gen(function* () {
      const { discover, make, write } = yield* workbench
      write(".pi/agent/settings.json", JSON.stringify({ sessionDir: "~/.pi/agent/sessions/" }))
      make(".pi/agent/sessions")
      assert.deepStrictEqual((yield* discover({ PI_CODING_AGENT_SESSION_DIR: "" })).roots, [
        [".pi/agent/sessions", "settings.json"]
      ])
    })
  )

  it.effect("ignores broken settings", () =>
    Effect.gen(function* () {
      const { discover, home, make, write } = yield* workbench
      make(".pi/agent/sessions")
      for (const settings of ["{", "null", "[]", '{"sessionDir":7}', '{"sessionDir":""}', ""]) {
        write(".pi/agent/settings.json", settings)
        assert.deepStrictEqual(yield* discover(), { roots: [DEFAULT], missing: [] }, settings)
      }
      Fs.rmSync(Path.join(home, ".pi/agent/settings.json"))
      make(".pi/agent/settings.json")
      assert.deepStrictEqual(yield* discover(), { roots: [DEFAULT], missing: [] })
    })
  )

  it.effect("opens no file except settings.json", () =>
    Effect.gen(function* () {
      const { discover, home, opened, write } = yield* workbench
      write(".pi/agent/auth.json", '{"key":"secret"}')
      write(".pi/agent/sessions/a.jsonl", "")
      yield* discover()
      assert.deepStrictEqual(opened, [Path.join(home, ".pi/settings.json"), Path.join(home, ".pi/agent/settings.json")])
    })
  )

  it.effect("returns roots that SessionSource can list", () =>
    Effect.gen(function* () {
      const { home, write } = yield* workbench
      write(".pi/agent/sessions/--x--/a.jsonl", '{"type":"session","version":3,"id":"s"}\n')
      const listing = yield* Effect.gen(function* () {
        const { roots } = yield* SessionDiscovery.discover()
        const layer = SessionSource.layerPaths(roots.map((root) => root.path))
        return yield* Effect.flatMap(SessionSource, (source) => source.list).pipe(Effect.provide(layer))
      }).pipe(
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ HOME: home }))),
        Effect.provide(NodeServices.layer)
      )
      assert.strictEqual(listing.sessions.length, 1)
    })
  )
})
