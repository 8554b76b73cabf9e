/**
 * Measures search, compared with ripgrep (one thread) and grep, which search lines without scopes. Run by `pnpm bench`.
 *
 * ripgrep and grep are timed as whole processes, which start in some milliseconds. This library is timed without the
 * start of Node: from listing the sessions to the last hit with its position. The first search of a process includes
 * compilation. The pattern is in a prompt and in a tool result of one session.
 */
import { spawnSync } from "node:child_process"
import * as FileSystem from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"

const megabytes = Number(process.env["PI_SESSIONS_BENCH_MB"] ?? 500)
const contender = Path.join(import.meta.dirname, "contenders/search.ts")
const dir = FileSystem.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))

const said = "the quokkaZephyr417 of the harbour"

/** Appends a prompt and a tool result with the text, as Pi writes them. */
const plant = (file: string, after: string): void => {
  const timestamp = "2026-02-01T10:00:00.000Z"
  const content = [{ type: "text", text: said }]
  const lines = [
    { type: "message", id: "f0000001", parentId: after, timestamp, message: { role: "user", content, timestamp: 1 } },
    {
      type: "message",
      id: "f0000002",
      parentId: "f0000001",
      timestamp,
      message: { role: "toolResult", toolCallId: "c", toolName: "bash", content, isError: false, timestamp: 2 }
    }
  ]
  FileSystem.appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
}

/** Writes many sessions of some hundred KB and a few of 10 MB, in project directories. */
const generate = async (): Promise<{ readonly bytes: number; readonly sessions: number }> => {
  let bytes = 0
  let sessions = 0
  while (bytes < megabytes * 1e6 || sessions < 2) {
    const project = Path.join(dir, `--home-dev-project-${sessions % 20}--`)
    FileSystem.mkdirSync(project, { recursive: true })
    const file = Path.join(project, `2026-01-05T10-00-00-000Z_${String(sessions).padStart(6, "0")}.jsonl`)
    const entries = sessions % 40 === 0 ? 8000 : 400 + ((sessions * 37) % 900)
    const written = await LargeSession.write(file, { entries, seed: sessions + 1, compactEvery: 600 })
    if (sessions === 1) plant(file, written.leafId)
    bytes += FileSystem.statSync(file).size
    sessions++
  }
  return { bytes, sessions }
}

const isInstalled = (program: string): boolean => spawnSync(program, ["--version"]).status === 0

const ours = (
  scope: string,
  pattern: string,
  rule: string,
  kind: "literal" | "regex" = "literal",
  which: "first" | "further" = "first"
): Bench.Contender => ({
  name: `pi-sessions, ${scope}${which === "first" ? "" : ", further searches"}`,
  command: [process.execPath, "--expose-gc", contender, dir, pattern, scope, rule, kind, which],
  reports: true
})

try {
  const { bytes, sessions } = await generate()
  const missing = ["rg", "grep"].filter((program) => !isInstalled(program))
  for (const program of missing) process.stdout.write(`not measured: ${program} is not installed\n`)
  const table = (
    what: string,
    rg: ReadonlyArray<string>,
    grep: ReadonlyArray<string>,
    own: ReadonlyArray<Bench.Contender>
  ) =>
    Bench.table({ title: `search, ${sessions} sessions, ${(bytes / 1e6).toFixed(0)} MB: ${what}`, bytes }, [
      ...(missing.includes("rg")
        ? []
        : [
            {
              name: "rg -j1 (whole process)",
              command: ["rg", "-j1", "--no-config", "--no-ignore", ...rg, dir] as const
            }
          ]),
      ...(missing.includes("grep")
        ? []
        : [{ name: "grep -r (whole process)", command: ["grep", "-r", ...grep, dir] as const }]),
      ...own
    ])
  const literal = "quokkaZephyr417"
  table(
    "a rare case-sensitive literal",
    ["-F", literal],
    ["-F", literal],
    [
      ours("prompts", literal, "sensitive"),
      ours("all", literal, "sensitive"),
      ours("prompts", literal, "sensitive", "literal", "further")
    ]
  )
  const lower = literal.toLowerCase()
  table("the same in any case", ["-F", "-i", lower], ["-F", "-i", lower], [ours("prompts", lower, "smart")])
  const regex = "quokka[A-Z]ephyr[0-9]+"
  table(
    "a regular expression with a literal in it",
    [regex],
    ["-E", regex],
    [ours("prompts", regex, "sensitive", "regex")]
  )
  const bare = "(quokka|wombat)[A-Z]"
  table("a regular expression without one", [bare], ["-E", bare], [ours("prompts", bare, "sensitive", "regex")])
  const common = "session"
  table(
    "a common word in any case",
    ["-F", "-i", "-c", common],
    ["-F", "-i", "-c", common],
    [ours("prompts", common, "smart")]
  )
} finally {
  FileSystem.rmSync(dir, { recursive: true })
}
