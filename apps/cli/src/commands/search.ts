/** `pi-sessions search`: what was said in sessions. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GasTown from "@pi-sessions/core/GasTown"

const on = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const texts = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.atLeast(0))

const lines = (name: string, alias: string, description: string) =>
  Flag.Int(name).pipe(Flag.withAlias(alias), Flag.withMetavar("N"), Flag.withDescription(description), Flag.optional)

export const search = Command.make(
  "search",
  {
    pattern: Argument.String("PATTERN").pipe(
      Argument.withDescription("Text to look for; any case unless it has an upper-case letter")
    ),
    scope: Flag.Literals("scope", ["prompts", "conversations", "all"]).pipe(
      Flag.withDescription(
        "prompts: what users wrote (default); conversations: also what assistants said, thought and called, tool results, ! commands, summaries; all: also session names, messages of extensions, system prompts"
      ),
      Flag.optional
    ),
    regex: on("regex", "PATTERN is a JavaScript regular expression (flags u and m)"),
    ignoreCase: on("ignore-case", "Any case, also where PATTERN has upper-case letters"),
    caseSensitive: on("case-sensitive", "The case of PATTERN only"),
    word: on("word", "Whole words only"),
    sessions: texts(
      "sessions",
      "PATH",
      "Session file, or directory to search to any depth (default: where Pi keeps its sessions)"
    ),
    rig: texts("rig", "RIG", "Only sessions of this rig, town-level agent or address (as in extract)"),
    role: Flag.Literals("role", GasTown.Role.literals).pipe(
      Flag.withDescription("Only sessions of this role"),
      Flag.atLeast(0)
    ),
    cwd: text("cwd", "DIR", "Only sessions of this working directory and those below it"),
    model: texts(
      "model",
      "MODEL",
      "Only what this model wrote, or what was written while it was chosen: NAME or PROVIDER/NAME"
    ),
    tool: texts("tool", "TOOL", "Only calls and results of this tool (scope conversations unless told)"),
    since: text("since", "WHEN", "Only entries from then on: 2026-02-25, 2026-02-25T08:30, 7d, 12h"),
    until: text("until", "WHEN", "Only entries up to then (a day counts whole)"),
    context: lines("context", "C", "Lines of the text to show before and after"),
    before: lines("before-context", "B", "Lines to show before"),
    after: lines("after-context", "A", "Lines to show after"),
    limit: Flag.Int("limit").pipe(
      Flag.withMetavar("N"),
      Flag.withDescription(
        "No more matching texts, or with --count and -l sessions, than so many; the newest come first, and then the reading stops"
      ),
      Flag.optional
    ),
    count: on("count", "Print how many texts match in each session"),
    filesWithMatches: on("files-with-matches", "Print the paths of sessions with a match").pipe(Flag.withAlias("l")),
    json: on("json", "Print one JSON document"),
    ndjson: on("ndjson", "Print one JSON object a line, as they are found")
  },
  (input) =>
    Effect.flatMap(
      Effect.promise(() => import("./search/run.ts")),
      (command) => command.run(input)
    )
).pipe(
  Command.withDescription(
    "Search what was said in sessions, newest first; what forks share is found once. Exit status 2 when nothing matches"
  ),
  Command.withExamples([
    { command: "pi-sessions search 'flaky test'", description: "In the prompts of all sessions, in any case" },
    {
      command: "pi-sessions search ENOSPC --scope conversations --tool bash --since 7d -C 2",
      description: "In a week of commands and their output, with two lines around"
    },
    {
      command: "pi-sessions search --regex 'TODO\\(\\w+\\)' --cwd . --scope all --ndjson",
      description: "For a program: texts that match in sessions of this project"
    },
    { command: "pi-sessions search 'merge queue' --rig gastown -l", description: "Paths of a rig's sessions" }
  ])
)
