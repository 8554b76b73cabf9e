/** `pi-sessions search`: what was said in sessions. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SessionFlags from "../flags/SessionFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  pattern: Argument.String("PATTERN").pipe(
    Argument.withDescription("Text to find, in any case unless it has an upper-case letter")
  ),
  scope: Flag.Literals("scope", ["prompts", "conversations", "all"]).pipe(
    Flag.withDescription(
      "prompts: what users wrote; conversations: also answers, thinking, tool calls and results, ! commands, summaries; all: also session names, messages of extensions, system prompts. Default: prompts; with --tool, conversations."
    ),
    Flag.optional
  ),
  regex: FlagKinds.on("regex", "PATTERN is a JavaScript regular expression (flags u and m)"),
  ignoreCase: FlagKinds.on("ignore-case", "Match any case, even if PATTERN has upper-case letters"),
  caseSensitive: FlagKinds.on("case-sensitive", "Match the case of PATTERN"),
  word: FlagKinds.on("word", "Match whole words only"),
  sessions: SessionFlags.sessions(),
  rig: SessionFlags.rig,
  role: SessionFlags.role,
  cwd: SessionFlags.cwd,
  model: SessionFlags.model("Only texts written by this model or while it was chosen: NAME or PROVIDER/NAME"),
  tool: FlagKinds.texts("tool", "TOOL", "Only calls and results of this tool"),
  since: SessionFlags.since("entries written"),
  until: SessionFlags.until("entries written up to this time"),
  context: FlagKinds.int("context", "N", "Lines to print before and after each match").pipe(Flag.withAlias("C")),
  before: FlagKinds.int("before-context", "N", "Lines to print before each match").pipe(Flag.withAlias("B")),
  after: FlagKinds.int("after-context", "N", "Lines to print after each match").pipe(Flag.withAlias("A")),
  limit: SessionFlags.limit("texts, newest first; with --count or -l: sessions"),
  count: FlagKinds.on("count", "Print the number of matching texts in each session"),
  filesWithMatches: FlagKinds.on("files-with-matches", "Print the paths of sessions with a match").pipe(
    Flag.withAlias("l")
  ),
  json: OutputFlags.json(),
  ndjson: OutputFlags.ndjson()
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const search = Command.make(
  "search",
  flags,
  lazily(() => import("./search/run.ts"))
).pipe(
  Command.withDescription(
    "Search what was said in sessions, newest first; text that forks share is found once. Exit 2 if nothing matches"
  ),
  Command.withExamples([
    { command: "pi-sessions search 'flaky test'", description: "In the prompts of all sessions, in any case" },
    {
      command: "pi-sessions search ENOSPC --scope conversations --tool bash --since 7d -C 2",
      description: "In a week of commands and their output, with two lines around"
    },
    {
      command: "pi-sessions search --regex 'TODO\\(\\w+\\)' --cwd . --scope all --ndjson",
      description: "For a program: matching texts in sessions of this project"
    },
    { command: "pi-sessions search 'merge queue' --rig gastown -l", description: "Paths of a rig's sessions" }
  ])
)
