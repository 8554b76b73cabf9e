/** A folder of sessions with every kind of content that extract leaves out, and a fixed redaction key. */
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./callCli.ts"
import { fixtures } from "./storeFolder.ts"

/** Built here, so that secret scanners do not find it in the repository. */
const SECRET = `ghp_${"A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}`

/** A text with the secret blanked out. */
export const withoutSecret = (text: string): string =>
  text.replaceAll(/ghp_[A-Za-z0-9]+/gu, (secret) => "ghp".padEnd(secret.length, "-"))

const lines = (values: ReadonlyArray<object>): string => values.map((value) => `${JSON.stringify(value)}\n`).join("")

const header = (id: string, more: object = {}): object => ({
  type: "session",
  version: 3,
  id,
  timestamp: "2026-03-02T10:00:00.000Z",
  cwd: "/home/ann/app",
  ...more
})

/** Messages, each after the one before it. */
const chain = (messages: ReadonlyArray<object>): ReadonlyArray<object> =>
  messages.map((message, at) => ({
    type: "message",
    id: `e${at + 1}`,
    parentId: at === 0 ? null : `e${at}`,
    timestamp: `2026-03-02T10:00:0${at}.000Z`,
    message
  }))

const user = (...content: ReadonlyArray<object>): object => ({ role: "user", content })

const text = (text: string): object => ({ type: "text", text })

const assistant = (content: ReadonlyArray<object>, more: object = {}): object => ({
  role: "assistant",
  content,
  api: "openai-completions",
  provider: "fake",
  model: "fake-2",
  usage: { input: 1000, output: 50, cacheRead: 400, cacheWrite: 10, totalTokens: 1460, cost: { total: 0.0125 } },
  stopReason: "stop",
  ...more
})

const secrets = lines([
  header("secrets"),
  ...chain([
    user(text(`Push with ${SECRET}, and tell ann@corp.io.`), { type: "image", data: "aGk=", mimeType: "image/png" }),
    assistant(
      [
        { type: "thinking", thinking: `The token is ${SECRET}.` },
        text("I push from /home/ann/app."),
        { type: "toolCall", id: "a", name: "bash", arguments: { command: `TOKEN=${SECRET} git push` } }
      ],
      { stopReason: "toolUse" }
    ),
    {
      role: "toolResult",
      toolCallId: "a",
      toolName: "bash",
      content: [text("remote:\n  one\n  two\n  three\n  four\n  \u001b[31mfive\u001b[0m")],
      isError: true
    },
    assistant([], { stopReason: "error", errorMessage: "overloaded" }),
    assistant([text(`Pushed. ${"It took a while. ".repeat(12)}`)]),
    user(text("thanks"))
  ])
])

const hydrated = lines([
  header("hydrated", { hydratedFrom: { threadId: "th_1", mode: "semantic" } }),
  ...chain([user(text("hi")), assistant([text("Hello.")])])
])

/** The user asked again and continued from there. */
const retried = lines([
  header("retried"),
  ...chain([
    user(text("Name a colour.")),
    assistant([text("Green.")]),
    user(text("Name a colour.")),
    assistant([text("Blue.")]),
    user(text("Why?")),
    assistant([text("It is calm.")])
  ]).map((entry, at) => (at === 2 ? { ...entry, parentId: null } : entry))
])

/** The folder with `sessions` in it; calls are made from there. */
export const make = Effect.gen(function* () {
  const cwd = yield* temporaryFolder
  const sessions = Path.join(cwd, "sessions")
  Files.cpSync(Path.join(fixtures, "sessions"), sessions, { recursive: true })
  Files.cpSync(Path.join(fixtures, "damaged/torn-last-line.jsonl"), Path.join(sessions, "torn.jsonl"))
  Files.writeFileSync(Path.join(sessions, "secrets.jsonl"), secrets)
  Files.writeFileSync(Path.join(sessions, "secrets-again.jsonl"), secrets.replace('"id":"secrets"', '"id":"again"'))
  Files.writeFileSync(Path.join(sessions, "hydrated.jsonl"), hydrated)
  Files.writeFileSync(Path.join(sessions, "retried.jsonl"), retried)
  Files.writeFileSync(Path.join(sessions, "notes.jsonl"), '{"just":"json lines"}\n')
  const state = Path.join(cwd, "state")
  Files.mkdirSync(Path.join(state, "pi-sessions"), { recursive: true })
  Files.writeFileSync(Path.join(state, "pi-sessions/redaction-key"), `${"5".repeat(64)}\n`, { mode: 0o600 })
  const run = (...args: ReadonlyArray<string>) => call(args, cwd, false, { XDG_STATE_HOME: state })
  return { cwd, sessions, state, run }
})
