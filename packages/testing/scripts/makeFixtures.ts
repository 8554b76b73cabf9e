/**
 * Writes fixtures/sessions through the SessionManager of the real Pis: `pnpm --filter @pi-sessions/testing fixtures`.
 * Ids and entry times are Pi's own, so each run gives other bytes; run it when the fixtures should change, look at the
 * difference, and commit it. fixtures/README.md says what each file is for.
 */
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { type PiMessage, type PiSessionManager, load } from "../src/pi/PiModule.ts"
import { type PiVersion } from "../src/pi/PiVersion.ts"

const root = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")

let clock = Date.parse("2026-05-31T10:12:13.456Z")
const tick = (): number => (clock += 1500)

const usage = (input: number, output: number): Record<string, unknown> => ({
  input,
  output,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: input + output,
  cost: { input: input / 1e6, output: output / 5e5, cacheRead: 0, cacheWrite: 0, total: input / 1e6 + output / 5e5 }
})

const user = (text: string): PiMessage => ({ role: "user", content: [{ type: "text", text }], timestamp: tick() })

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: Record<string, unknown>
}

const assistant = (
  text: string,
  options: { readonly calls?: ReadonlyArray<Call>; readonly thinking?: string; readonly stopReason?: string } = {}
): PiMessage => ({
  role: "assistant",
  content: [
    ...(options.thinking === undefined ? [] : [{ type: "thinking", thinking: options.thinking }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...(options.calls ?? []).map((call) => ({ type: "toolCall", ...call }))
  ],
  api: "openai-completions",
  provider: "fake",
  model: "fake-1",
  usage: usage(400 + text.length, 20 + text.length),
  stopReason: options.stopReason ?? (options.calls === undefined ? "stop" : "toolUse"),
  ...(options.stopReason === "error" ? { errorMessage: "terminated" } : {}),
  timestamp: tick()
})

const result = (toolCallId: string, toolName: string, text: string, isError = false, details?: unknown): PiMessage => ({
  role: "toolResult",
  toolCallId,
  toolName,
  content: [{ type: "text", text }],
  ...(details === undefined ? {} : { details }),
  isError,
  timestamp: tick()
})

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const scenes: ReadonlyArray<{
  readonly name: string
  readonly pi: PiVersion
  readonly cwd: string
  readonly play: (manager: PiSessionManager) => void
}> = [
  {
    name: "gt/deacon-patrol",
    pi: "0.78",
    cwd: "/home/ubuntu/gt/deacon",
    play: (m) => {
      m.appendModelChange("fake", "fake-1")
      m.appendThinkingLevelChange("off")
      m.appendCustomMessageEntry("gastown-prime", "# Deacon Context\n\nYou are the deacon: patrol the town.", true)
      m.appendMessage(user("[GAS TOWN] deacon <- daemon \u2022 2026-02-25T08:30 \u2022 patrol\n\nRun your patrol."))
      m.appendMessage(
        assistant("I'll start with the heartbeat.\n\n", {
          calls: [{ id: "call_hb", name: "bash", arguments: { command: "gt deacon heartbeat" } }]
        })
      )
      m.appendMessage(result("call_hb", "bash", "\u2713 Heartbeat updated\n"))
      m.appendMessage(
        assistant("", {
          calls: [
            { id: "call_w", name: "bash", arguments: { command: "gt witness status --all" } },
            { id: "call_m", name: "bash", arguments: { command: "gt mail inbox" } }
          ]
        })
      )
      m.appendMessage(result("call_w", "bash", "gastown  running\nbeads    stopped\n"))
      m.appendMessage(result("call_m", "bash", "inbox empty\n"))
      m.appendMessage(assistant("The witness of beads is down; everything else is well. I have told the mayor."))
    }
  },
  {
    name: "gt/boot-triage",
    pi: "0.78",
    cwd: "/home/ubuntu/gt/deacon/dogs/boot",
    play: (m) => {
      m.appendMessage(user("[GAS TOWN] boot <- daemon \u2022 2026-02-23T19:24 \u2022 triage"))
      m.appendMessage(assistant("Deacon answers. Nothing to do."))
    }
  },
  {
    name: "gt/witness-patrol",
    pi: "1.5",
    cwd: "/home/ubuntu/gt/gastown/witness",
    play: (m) => {
      m.appendMessage({
        role: "system",
        content: "You are pi, a coding agent.",
        sections: { cwd: "Working directory: /home/ubuntu/gt/gastown/witness" },
        toolsAdded: [
          {
            name: "bash",
            description: "Run a shell command.",
            parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] }
          }
        ],
        timestamp: tick()
      })
      m.appendMessage(user("[GAS TOWN] witness (rig: gastown) <- deacon \u2022 2026-02-23T23:03 \u2022 patrol"))
      m.appendMessage(
        assistant("Looking at the polecats.", {
          thinking: "List them first.",
          calls: [{ id: "call_p", name: "bash", arguments: { command: "gt polecat list" } }]
        })
      )
      m.appendMessage(result("call_p", "bash", "nux  working\nace  idle 3h\n", false, { exitCode: 0 }))
      m.appendMessage(assistant("", { stopReason: "error" }))
      m.appendMessage(user("go on"))
      m.appendMessage(assistant("ace has been idle for three hours; I have nudged it."))
      m.appendSessionInfo("witness patrol")
    }
  },
  {
    name: "gt/polecat-nux",
    pi: "0.78",
    cwd: "/home/ubuntu/gt/gastown/polecats/nux/gastown",
    play: (m) => {
      m.appendMessage(user("[GAS TOWN] polecat nux (rig: gastown) <- witness \u2022 2026-02-23T22:52 \u2022 assigned"))
      m.appendMessage(
        assistant("Reading the bead.", {
          calls: [{ id: "call_r", name: "read", arguments: { path: "bead.md" } }]
        })
      )
      m.appendMessage(result("call_r", "read", "ENOENT: no such file", true))
      m.appendMessage({
        role: "bashExecution",
        command: "ls",
        output: "bead-12.md\n",
        exitCode: 0,
        cancelled: false,
        truncated: false,
        timestamp: tick()
      })
      m.appendMessage(assistant("It is called bead-12.md."))
    }
  },
  {
    name: "gt/crew-max",
    pi: "1.5",
    cwd: "/home/ubuntu/gt/gastown/crew/max",
    play: (m) => {
      m.appendMessage(user("Draw the town, please \u{1F3D8}\uFE0F"))
      const answer = m.appendMessage(
        assistant("", { calls: [{ id: "call_i", name: "read", arguments: { path: "town.png" } }] })
      )
      m.appendMessage({
        role: "toolResult",
        toolCallId: "call_i",
        toolName: "read",
        content: [
          { type: "text", text: "Read image file [image/png]" },
          { type: "image", data: PIXEL, mimeType: "image/png" }
        ],
        isError: false,
        timestamp: tick()
      })
      m.appendMessage(assistant("A single pixel; there is not much of a town in it."))
      m.appendLabelChange(answer, "the picture")
    }
  },
  {
    name: "project/branches",
    pi: "1.5",
    cwd: "/home/dev/work/app",
    play: (m) => {
      m.appendModelChange("fake", "fake-1")
      m.appendThinkingLevelChange("medium")
      m.appendMessage(user("Which test framework should we use?"))
      const fork = m.appendMessage(assistant("Either jest or vitest.", { thinking: "Both are there." }))
      m.appendMessage(user("Use jest."))
      m.appendMessage(
        assistant("Installing jest.", {
          calls: [{ id: "call_j", name: "bash", arguments: { command: "npm i -D jest" } }]
        })
      )
      m.appendMessage(result("call_j", "bash", "added 270 packages"))
      const jest = m.appendMessage(assistant("jest is in."))
      m.appendLabelChange(jest, "jest way")
      m.branchWithSummary(fork, "jest was tried; it added 270 packages.", { readFiles: [], modifiedFiles: [] })
      m.appendMessage(user("Use vitest instead."))
      m.appendMessage(assistant("vitest is in; one test runs green."))
      m.appendCustomEntry("durable-todo-ledger", { type: "todo_added", id: 1, text: "write more tests" })
    }
  },
  {
    name: "project/compacted",
    pi: "0.78",
    cwd: "/home/dev/work/app",
    play: (m) => {
      m.appendMessage(user("Read the whole changelog."))
      m.appendMessage(assistant("", { calls: [{ id: "call_c", name: "read", arguments: { path: "CHANGELOG.md" } }] }))
      m.appendMessage(result("call_c", "read", "# Changelog\n\n## 1.0\n\nFirst.\n"))
      m.appendMessage(assistant("One release so far."))
      const kept = m.appendMessage(user("And the licence?"))
      m.appendMessage(assistant("MIT."))
      m.appendCompaction("The changelog lists one release, 1.0.", kept, 51_234, {
        readFiles: ["CHANGELOG.md"],
        modifiedFiles: []
      })
      m.appendMessage(user("Who wrote it?"))
      m.appendMessage(assistant("The file does not say.", { thinking: "No author line." }))
    }
  }
]

for (const { name, pi, cwd, play } of scenes) {
  const { SessionManager } = await load(pi)
  const target = Path.join(root, `${name}.jsonl`)
  const directory = FileSystem.mkdtempSync(Path.join(root, ".making-"))
  const manager = SessionManager.create(cwd, directory)
  play(manager)
  const file = manager.getSessionFile()
  if (file === undefined) throw new Error(`${name}: Pi wrote no file`)
  FileSystem.mkdirSync(Path.dirname(target), { recursive: true })
  FileSystem.renameSync(file, target)
  FileSystem.rmdirSync(directory)
}
