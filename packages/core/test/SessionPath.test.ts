/** Directories and names of session files, beside both real Pis. */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Url from "node:url"
import * as SessionPath from "../src/SessionPath.ts"
import * as files from "./support/files.ts"

/** Runs with other variables of the environment, which both Pis read at each call. */
const withEnvironment = <A>(variables: Readonly<Record<string, string>>, run: () => A): A => {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, variables)
  try {
    return run()
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

const cwds = [
  "/",
  "/home/user",
  "/home/user/my project",
  "/home/user/a-b",
  "/home/user/a/b",
  "//server/share",
  "/c:/windows/style",
  "/back\\slash",
  "/ümläut/日本語",
  "/trailing/",
  "/dots/../dots/./here"
] as const

describe.each(PiVersion.versions)("SessionPath, beside Pi %s", (version) => {
  it.effect.each(cwds)(
    "gives the sessions of %s Pi's path",
    Effect.fnUntraced(function* (cwd) {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const home = yield* temporaryFolder
      const agentDir = Path.join(home, "agent")
      const manager = withEnvironment({ HOME: home, PI_CODING_AGENT_DIR: agentDir }, () =>
        pi.SessionManager.create(cwd, "")
      )
      const environment = { home, cwd: Path.resolve(cwd), agentDir }
      const file = manager.getSessionFile() ?? ""
      assert.deepStrictEqual(SessionPath.sessionDir(environment), {
        path: Path.dirname(file),
        flat: false,
        source: "default"
      })
      const header = manager.getHeader()
      assert.strictEqual(SessionPath.fileName(header?.timestamp ?? "", header?.id ?? ""), Path.basename(file))
    })
  )

  it.effect.each(["~", "~/deep/agent", "file://HOME/by url", "HOME/plain", "relative", ""])(
    "finds the directory of PI_CODING_AGENT_DIR=%s",
    Effect.fnUntraced(function* (template) {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const home = yield* temporaryFolder
      const agentDir = template.startsWith("file:")
        ? Url.pathToFileURL(Path.join(home, "by url")).href
        : template === "relative"
          ? Path.relative(process.cwd(), Path.join(home, "relative"))
          : template.replace("HOME", home)
      const manager = withEnvironment({ HOME: home, PI_CODING_AGENT_DIR: agentDir }, () =>
        pi.SessionManager.create("/work", "")
      )
      const environment = { home, cwd: process.cwd(), agentDir }
      const root = SessionPath.sessionsRoot(environment)
      assert.strictEqual(Path.dirname(Path.dirname(manager.getSessionFile() ?? "")), root)
      assert.strictEqual(root, Path.join(SessionPath.agentDir(environment), "sessions"))
    })
  )

  it.live("chooses the session directory as a running Pi does: flag, environment, settings, default", () =>
    Effect.gen(function* () {
      const pi = yield* HermeticPi.make()
      const agentDir = pi.agentDir(version)
      const settingsFile = Path.join(agentDir, "settings.json")
      const settings: unknown = JSON.parse(Fs.readFileSync(settingsFile, "utf8"))
      const written = JSON.stringify(Object.assign({}, settings, { sessionDir: "~/by settings" }))
      const base = { home: pi.home, cwd: pi.cwd, agentDir }
      const withSettings = { ...base, settingsSessionDir: "~/by settings" }
      const withVariable = { ...withSettings, sessionDir: Path.join(pi.root, "by variable") }
      const cases = [
        { environment: base, flag: undefined, source: "default" },
        { environment: withSettings, flag: undefined, source: "settings" },
        { environment: withVariable, flag: undefined, source: "environment" },
        { environment: withVariable, flag: "by flag", source: "flag" }
      ]
      // A start of Pi takes a second: each version gets every other case, campaigns try all with both.
      const tried = cases.filter((_, at) => Dose.isCampaign() || at % 2 === PiVersion.versions.indexOf(version))
      for (const { environment, flag, source } of tried) {
        if (source !== "default") Fs.writeFileSync(settingsFile, written)
        const env: Record<string, string> =
          "sessionDir" in environment ? { PI_CODING_AGENT_SESSION_DIR: withVariable.sessionDir } : {}
        const args = [...(flag === undefined ? [] : ["--session-dir", flag]), "-p", "hello"]
        const exit = yield* pi.run(version, args, { env })
        assert.deepStrictEqual([exit.exitCode, exit.stderr], [0, ""], source)
        const dir = SessionPath.sessionDir(environment, flag)
        assert.strictEqual(dir.source, source)
        assert.strictEqual(dir.flat, source !== "default")
        assert.lengthOf(files.below(dir.path), 1, `${source}: one session below ${dir.path}`)
      }
    })
  )
})

describe("SessionPath.encodeCwd", () => {
  it("drops one leading slash and makes every slash, backslash and colon a dash", () => {
    assert.strictEqual(SessionPath.encodeCwd("/home/user/my project"), "--home-user-my project--")
    assert.strictEqual(SessionPath.encodeCwd("C:\\Users\\me"), "--C--Users-me--")
    assert.strictEqual(SessionPath.encodeCwd("//server/share"), "---server-share--")
    assert.strictEqual(SessionPath.encodeCwd("/"), "----")
    assert.strictEqual(SessionPath.encodeCwd("/a-b"), SessionPath.encodeCwd("/a/b"))
  })
})

describe("SessionPath.fileName", () => {
  it("is the time with dashes, and the id", () => {
    assert.strictEqual(SessionPath.fileName("2026-05-31T10:12:13.456Z", "abc"), "2026-05-31T10-12-13-456Z_abc.jsonl")
  })
})

describe("SessionPath.sessionDir", () => {
  const environment = { home: "/home/me", cwd: "/srv/x" }

  it("is below the home directory by default", () => {
    assert.deepStrictEqual(SessionPath.sessionDir(environment), {
      path: "/home/me/.pi/agent/sessions/--srv-x--",
      flat: false,
      source: "default"
    })
  })

  it("expands user input, relative to the working directory", () => {
    const expanded = ["~", "~/s", "./s", "../s", "/s/../t", "file:///s%20t", "~me/s"].map(
      (flag) => SessionPath.sessionDir(environment, flag).path
    )
    assert.deepStrictEqual(expanded, ["/home/me", "/home/me/s", "/srv/x/s", "/srv/s", "/t", "/s t", "/srv/x/~me/s"])
  })

  it("reads an empty variable as unset", () => {
    const empty = { ...environment, agentDir: "", sessionDir: "", settingsSessionDir: "" }
    assert.deepStrictEqual(SessionPath.sessionDir(empty, ""), SessionPath.sessionDir(environment))
  })
})
