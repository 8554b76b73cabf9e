/** The extension in process, with a Pi that only calls its handlers. */
import { assert, it } from "@effect/vitest"
import mirror from "../src/extension.ts"
import { type PiApi } from "../src/PiApi.ts"

it("does nothing without settings", async () => {
  const handlers = new Map<string, (event: never, context: never) => void | Promise<void>>()
  const calls: Array<string> = []
  const pi: PiApi = {
    on: (event: string, handler: (event: never, context: never) => void | Promise<void>) =>
      handlers.set(event, handler),
    getActiveTools: () => [],
    getAllTools: () => []
  }
  mirror(pi)
  const context = {
    hasUI: true,
    ui: { notify: (message: string) => calls.push(message) },
    sessionManager: { getSessionFile: () => "/nowhere/s.jsonl", getSessionId: () => "s", getLeafId: () => null },
    getSystemPrompt: () => "be kind"
  }
  for (const name of ["session_start", "message_end", "before_provider_request", "session_shutdown"]) {
    await handlers.get(name)?.({ reason: "startup" } as never, context as never)
  }
  assert.deepStrictEqual(calls, [])
  assert.isAbove(handlers.size, 10)
})
