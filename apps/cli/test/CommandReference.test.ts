/** `docs/cli.md` is the help of every command. `PI_SESSIONS_WRITE_GOLDEN=1` rewrites it. */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Effect } from "effect"
import type * as Command from "effect/cli/Command"
import * as Fs from "node:fs"
import * as process from "node:process"
import { commands } from "../src/Cli.ts"
import { call } from "./support/callCli.ts"

const FILE = new URL("../../../docs/cli.md", import.meta.url)

const HEAD = `# Commands

Generated from \`--help\`. In a clone of the repository, \`pi-sessions\` is \`pnpm -s sessions\`; \`pnpm hydrate\` and \`pnpm extract\`
run these commands directly.

- Results go to stdout, notes and progress to stderr. \`--json\` prints one document, \`--ndjson\` one object a line.
- Exit status: 0 done; 1 failed, or \`doctor\`, \`validate\` or \`store verify\` found something; 2 wrong usage, or nothing matched;
  130 interrupted.
- Every command takes \`--help\`, \`--version\`, \`--completions SHELL\` and \`--log-level LEVEL\`.
`

const HAS_SUBCOMMANDS = new Set(["index", "store"])

/** The names of all commands, each after its parents, in the order of the help. */
const paths = (
  list: ReadonlyArray<Command.Command.Any>,
  parents: ReadonlyArray<string> = []
): ReadonlyArray<ReadonlyArray<string>> =>
  list.flatMap((command) => [
    [...parents, command.name],
    ...paths(
      command.subcommands.flatMap((group) => group.commands),
      [...parents, command.name]
    )
  ])

describe("docs/cli.md", () => {
  it.live("is the help of every command", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const sections: Array<string> = []
      for (const path of paths(commands)) {
        const { status, stdout } = yield* call([...path, "--help"], cwd)
        assert.strictEqual(status, 0)
        if (!HAS_SUBCOMMANDS.has(path.join(" "))) assert.include(stdout, "EXAMPLES")
        const [, body = ""] = /^DESCRIPTION\n(.*)$/su.exec(stdout) ?? []
        const text = body.replace(/\nGLOBAL FLAGS\n(?: .*\n)*/u, "").replace(/\n{3,}/gu, "\n\n")
        sections.push(`## ${path.join(" ")}\n\n\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`)
      }
      const text = [HEAD, ...sections].join("\n")
      if (process.env["PI_SESSIONS_WRITE_GOLDEN"] === "1") Fs.writeFileSync(FILE, text)
      assert.strictEqual(Fs.readFileSync(FILE, "utf8"), text)
    })
  )
})
