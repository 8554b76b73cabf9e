/** The packages as npm packs them, in a program outside the workspace. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"

const root = Path.resolve(import.meta.dirname, "../../..")
const packages = ["core", "session-file", "reconstruction"]

const exec = (cwd: string, program: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(program, [...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

/** Unpacks the packages as npm gets them into a program outside the workspace. */
const install = (program: string): void => {
  const modules = Path.join(program, "node_modules")
  for (const name of packages) {
    const source = Path.join(root, "packages", name)
    exec(source, "tsc", "-p", "tsconfig.build.json")
    const before = FileSystem.mkdtempSync(Path.join(program, "pack-"))
    exec(source, "pnpm", "--config.verify-deps-before-run=false", "pack", "--pack-destination", before)
    const [tarball = ""] = FileSystem.readdirSync(before)
    const target = Path.join(modules, "@pi-sessions", name)
    FileSystem.mkdirSync(target, { recursive: true })
    exec(target, "tar", "-xzf", Path.join(before, tarball), "--strip-components=1")
  }
  // Packages of the registry are linked from the workspace.
  const borrowed = Path.join(root, "packages/reconstruction/node_modules")
  FileSystem.mkdirSync(Path.join(modules, "@effect"))
  FileSystem.mkdirSync(Path.join(modules, "@types"))
  for (const name of ["effect", "@effect/platform-node", "@types/node"]) {
    FileSystem.symlinkSync(FileSystem.realpathSync(Path.join(borrowed, name)), Path.join(modules, name))
  }
}

describe("the packed packages", () => {
  it.live("work in a program outside the workspace: its types check, it runs", () =>
    Effect.gen(function* () {
      const program = Path.join(yield* temporaryFolder, "resume-thread")
      FileSystem.cpSync(Path.join(root, "examples/resume-thread"), program, { recursive: true })
      install(program)
      for (const name of packages) {
        const packed = Path.join(program, "node_modules/@pi-sessions", name)
        assert.deepStrictEqual(FileSystem.readdirSync(packed).sort(), ["LICENSE", "dist", "package.json"].sort())
        const manifest = FileSystem.readFileSync(Path.join(packed, "package.json"), "utf8")
        assert.notInclude(manifest, "workspace:")
        assert.notInclude(manifest, "catalog:")
      }
      exec(program, "tsc", "-p", "tsconfig.json")
      const thread = Path.join(root, "fixtures/threads/rename-module.jsonl")
      const output = exec(program, process.execPath, "main.ts", thread, "session.jsonl")
      assert.strictEqual(output, `${Path.join(program, "session.jsonl")} (semantic): 9 messages in the context\n`)
    })
  )
})
