/** The two todo lists of examples/pi-todos in the real Pi, bundled as by its users. */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiRpc from "@pi-sessions/testing/pi/PiRpc"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import { Effect, Schema } from "effect"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { rolldown } from "rolldown"

const core = Path.resolve(import.meta.dirname, "..")
const example = Path.resolve(core, "../../examples/pi-todos")

/** A copy of the example with this package and Effect installed. */
const install = (folder: string): void => {
  Fs.cpSync(example, folder, { recursive: true })
  Fs.mkdirSync(Path.join(folder, "node_modules/@pi-sessions"), { recursive: true })
  Fs.symlinkSync(core, Path.join(folder, "node_modules/@pi-sessions/core"))
  for (const name of ["effect", "@types"]) {
    Fs.symlinkSync(Path.join(core, "node_modules", name), Path.join(folder, "node_modules", name))
  }
}

/** Bundles the example. Both versions of Pi load the same bundle. */
const bundle = async (folder: string): Promise<string> => {
  const build = await rolldown({ input: Path.join(folder, "todos.ts"), platform: "node" })
  const { output } = await build.write({ file: Path.join(folder, "dist/todos.js"), minify: true })
  await build.close()
  const imports = output.flatMap((file) => (file.type === "chunk" ? file.imports : []))
  assert.isTrue(imports.every((name) => name.startsWith("node:")))
  return Path.join(folder, "dist/todos.js")
}

/** `/goto WORDS` moves the leaf before the first prompt that contains the words, as `/tree` does. */
const goto = `export default (pi) => pi.registerCommand("goto", {
  description: "moves in the tree",
  handler: async (words, context) => {
    const holds = (entry) => entry.message?.role === "user" && JSON.stringify(entry).includes(words)
    const { id } = context.sessionManager.getEntries().find(holds)
    await context.navigateTree(id, { summarize: false })
  }
})
`

/** A prompt lists the model's calls: `title | tool {arguments} | tool {arguments}`. */
const script = (request: ScriptedModel.ChatRequest): ScriptedModel.ScriptedReply => {
  const last = request.messages.at(-1)
  if (last?.role !== "user") return { text: "ok" }
  const [, ...calls] = ScriptedModel.textOf(last).split(" | ")
  return {
    toolCalls: calls.map((call) => {
      const space = call.indexOf(" ")
      return { name: call.slice(0, space), arguments: call.slice(space + 1) }
    })
  }
}

const first = 'first | todo {"action":"add","text":"milk"} | durable_todo {"action":"add","text":"migrate"}'
const second = [
  "second",
  'todo {"action":"add","text":"bread"}',
  'todo {"action":"toggle","id":1}',
  'durable_todo {"action":"complete","id":1}',
  'durable_todo {"action":"add","text":"review"}'
].join(" | ")
const third = 'third | todo {"action":"add","text":"eggs"} | durable_todo {"action":"add","text":"deploy"}'
const wrong =
  'wrong | todo {"action":"toggle","id":9} | durable_todo {"action":"complete","id":9} | todo {"action":"no"}'
const list = 'list | todo {"action":"list"} | durable_todo {"action":"list"}'

const State = Schema.Struct({ sessionFile: Schema.String })
const ForkMessages = Schema.Struct({
  messages: Schema.Array(Schema.Struct({ entryId: Schema.String, text: Schema.String }))
})

const makePlace = Effect.fnUntraced(function* (version: PiVersion.PiVersion) {
  const pi = yield* HermeticPi.make(script)
  const folder = Path.join(pi.root, "pi-todos")
  install(folder)
  const todos = yield* Effect.promise(() => bundle(folder))
  const goTo = Path.join(pi.root, "goto.js")
  Fs.writeFileSync(goTo, goto)

  const start = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
    const { agentDir, cwd, home } = pi
    const extensions = [todos, goTo]
    const rpc = yield* PiRpc.start(version, { agentDir: agentDir(version), cwd, home, extensions, args })
    /** The results of a prompt's calls, in order. */
    const ask = Effect.fnUntraced(function* (prompt: string) {
      yield* rpc.prompt(prompt)
      const messages = (yield* pi.requests).at(-1)?.messages ?? []
      return messages
        .slice(messages.findLastIndex(({ role }) => role === "user"))
        .filter(({ role }) => role === "tool")
        .map(ScriptedModel.textOf)
    })
    const sessionFile = rpc
      .request({ type: "get_state" })
      .pipe(Effect.map((state) => Schema.decodeUnknownSync(State)(state).sessionFile))
    /** Forks before the prompt. */
    const fork = Effect.fnUntraced(function* (prompt: string) {
      const { messages } = Schema.decodeUnknownSync(ForkMessages)(yield* rpc.request({ type: "get_fork_messages" }))
      const entryId = messages.find(({ text }) => text === prompt)?.entryId
      yield* rpc.request({ type: "fork", entryId })
    })
    /** Ends Pi and checks that it reported no errors. */
    const stop = Effect.gen(function* () {
      const errors = (yield* rpc.events).filter(({ type }) => type === "extension_error")
      assert.deepStrictEqual(errors, [])
      assert.strictEqual(yield* rpc.stop, 0)
      assert.strictEqual(yield* rpc.stderr, "")
    })
    return { request: rpc.request, goTo: (words: string) => rpc.prompt(`/goto ${words}`), ask, sessionFile, fork, stop }
  })
  return { start, sessionDir: pi.sessionDir }
})

it.effect("the example's types check", () =>
  Effect.gen(function* () {
    const folder = Path.join(yield* temporaryFolder, "pi-todos")
    install(folder)
    // Here the package is its source, which imports files by their own names and needs the types of Node.
    const options = ["--allowImportingTsExtensions", "--types", "node"]
    const { status, stdout } = spawnSync("tsc", ["-p", folder, ...options], { encoding: "utf8" })
    assert.deepStrictEqual([status, stdout], [0, ""])
  })
)

describe.each(PiVersion.versions)("todos in Pi %s", (version) => {
  it.effect("follow the branch or stay done, over /tree, resume, switch and fork", () =>
    Effect.gen(function* () {
      const { start, sessionDir } = yield* makePlace(version)
      const pi = yield* start(["--session-dir", sessionDir])
      assert.deepStrictEqual(yield* pi.ask(list), ["No todos", "No todos"])
      assert.deepStrictEqual(yield* pi.ask(first), ["[ ] #1: milk", "[ ] #1: migrate"])
      yield* pi.ask(second)
      const afterSecond = ["[x] #1: milk\n[ ] #2: bread", "[x] #1: migrate\n[ ] #2: review"]
      assert.deepStrictEqual(yield* pi.ask(list), afterSecond)

      // A call that fails changes nothing, neither now nor in a replay.
      const [noTodo, noDurableTodo, noAction] = yield* pi.ask(wrong)
      assert.deepStrictEqual([noTodo, noDurableTodo], ["there is no todo #9", "there is no todo #9"])
      assert.include(noAction, "Validation failed")

      // Before the second turn: durable todos stay done.
      yield* pi.goTo("second")
      const rewound = ["[ ] #1: milk", "[x] #1: migrate\n[ ] #2: review"]
      assert.deepStrictEqual(yield* pi.ask(list), rewound)
      // Back to the old branch, and then before the first turn.
      yield* pi.goTo("wrong")
      assert.deepStrictEqual(yield* pi.ask(list), afterSecond)
      yield* pi.goTo("first")
      assert.deepStrictEqual(yield* pi.ask(list), ["No todos", rewound[1]])
      yield* pi.goTo("second")
      yield* pi.ask(third)
      const afterThird = ["[ ] #1: milk\n[ ] #2: eggs", "[x] #1: migrate\n[ ] #2: review\n[ ] #3: deploy"]
      assert.deepStrictEqual(yield* pi.ask(list), afterThird)
      const original = yield* pi.sessionFile
      yield* pi.stop

      const resumed = yield* start(["--session", original])
      assert.deepStrictEqual(yield* resumed.ask(list), afterThird)

      // The completion, and the two todos that came later, are not on the path that is copied.
      yield* resumed.fork(third)
      const forked = yield* resumed.sessionFile
      assert.notStrictEqual(forked, original)
      assert.deepStrictEqual(yield* resumed.ask(list), ["[ ] #1: milk", "[ ] #1: migrate"])
      yield* resumed.ask(third)
      const inFork = ["[ ] #1: milk\n[ ] #2: eggs", "[ ] #1: migrate\n[ ] #2: deploy"]
      assert.deepStrictEqual(yield* resumed.ask(list), inFork)

      yield* resumed.request({ type: "switch_session", sessionPath: original })
      assert.deepStrictEqual(yield* resumed.ask(list), afterThird)
      yield* resumed.request({ type: "new_session" })
      assert.deepStrictEqual(yield* resumed.ask(list), ["No todos", "No todos"])
      yield* resumed.stop

      // One more start of Pi, which takes a second.
      if (!Dose.isCampaign()) return
      const inOtherProcess = yield* start(["--session", forked])
      assert.deepStrictEqual(yield* inOtherProcess.ask(list), inFork)
      yield* inOtherProcess.stop
    })
  )
})
