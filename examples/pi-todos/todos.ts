/**
 * Two todo lists of a Pi extension, each durable in its own way. `todo` is true on a branch: every result of the tool
 * holds the whole list, so it rewinds with `/tree`. `durable_todo` is true in the session: a ledger of custom entries
 * holds what happened, so what is done stays done. Both are caches, rebuilt from the entries whenever Pi moves.
 */
import { type JsonObject } from "@pi-sessions/core/Json"
import * as Replay from "@pi-sessions/core/Replay"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import * as Schema from "effect/Schema"

const Todo = Schema.Struct({ id: Schema.Number, text: Schema.String, done: Schema.Boolean })
type Todo = typeof Todo.Type
type Todos = ReadonlyArray<Todo>

/** Branch-local: what each result of `todo` holds. A failed call has no such details, and is passed over. */
const Snapshot = Schema.Struct({ todos: Schema.Array(Todo), nextId: Schema.Number })
type Snapshot = typeof Snapshot.Type

const empty: Snapshot = { todos: [], nextId: 1 }
const snapshots = Replay.snapshot("todo", Snapshot)

/** Session-global: what each ledger entry holds, and what it does to the list. */
const Added = Schema.Struct({ type: Schema.Literal("todo_added"), id: Schema.Number, text: Schema.String })
const Completed = Schema.Struct({ type: Schema.Literal("todo_completed"), id: Schema.Number })
const LedgerEvent = Schema.Union([Added, Completed])
type LedgerEvent = typeof LedgerEvent.Type

const ledgerType = "durable-todo-ledger"
const applyEvent = (todos: Todos, event: LedgerEvent): Todos =>
  event.type === "todo_added"
    ? [...todos, { id: event.id, text: event.text, done: false }]
    : todos.map((todo) => (todo.id === event.id ? { ...todo, done: true } : todo))
const ledger = Replay.ledger(ledgerType, LedgerEvent, applyEvent)

/** What is used of Pi; nothing of it is imported. */
type Entry = JsonObject & { readonly type: string }
interface Context {
  readonly sessionManager: { getBranch(): ReadonlyArray<Entry>; getEntries(): ReadonlyArray<Entry> }
}
interface Call<Action> {
  readonly action: Action
  readonly text?: string
  readonly id?: number
}
interface Result {
  readonly content: ReadonlyArray<{ readonly type: "text"; readonly text: string }>
  readonly details?: Snapshot
}
interface Tool<Action> {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly parameters: object
  execute(callId: string, call: Call<Action>): Promise<Result>
}
interface Pi {
  on(event: "session_start" | "session_tree", handler: (event: unknown, context: Context) => void): void
  registerTool<Action>(tool: Tool<Action>): void
  appendEntry(customType: string, data: LedgerEvent): void
}

const toEntry = (entry: Entry): SessionEntry => SessionEntry.make(entry)

/** JSON Schema. Pi checks each call against it. */
const parameters = (...actions: ReadonlyArray<string>) => ({
  type: "object",
  properties: { action: { type: "string", enum: actions }, text: { type: "string" }, id: { type: "number" } },
  required: ["action"]
})

const show = (todos: Todos): string =>
  todos.map(({ id, text, done }) => `[${done ? "x" : " "}] #${id}: ${text}`).join("\n") || "No todos"

const answer = (text: string): Result => ({ content: [{ type: "text", text }] })

const textOf = ({ text }: Call<unknown>): string => {
  if (text === undefined || text === "") throw new Error("text is missing")
  return text
}

const find = (todos: Todos, id: number | undefined): Todo => {
  const todo = todos.find((todo) => todo.id === id)
  if (todo === undefined) throw new Error(`there is no todo #${id}`)
  return todo
}

export default (pi: Pi): void => {
  let local = empty
  let durable: Todos = []

  const rebuild = (_event: unknown, { sessionManager }: Context): void => {
    local = Replay.reconstruct(empty, snapshots, sessionManager.getBranch().map(toEntry))
    durable = Replay.reconstruct<Todos>([], ledger, sessionManager.getEntries().map(toEntry))
  }
  pi.on("session_start", rebuild)
  pi.on("session_tree", rebuild)

  pi.registerTool<"list" | "add" | "toggle" | "clear">({
    name: "todo",
    label: "Todo",
    description: "Todos of this branch of the conversation: list, add (text), toggle (id), clear",
    parameters: parameters("list", "add", "toggle", "clear"),
    async execute(_callId, call) {
      const { todos, nextId } = local
      if (call.action === "add") {
        local = { todos: [...todos, { id: nextId, text: textOf(call), done: false }], nextId: nextId + 1 }
      } else if (call.action === "toggle") {
        const toggled = find(todos, call.id)
        local = { todos: todos.map((todo) => (todo === toggled ? { ...todo, done: !todo.done } : todo)), nextId }
      } else if (call.action === "clear") {
        local = empty
      }
      return { ...answer(show(local.todos)), details: local }
    }
  })

  pi.registerTool<"list" | "add" | "complete">({
    name: "durable_todo",
    label: "Durable todo",
    description: "Todos of the whole session, done once and for all: list, add (text), complete (id)",
    parameters: parameters("list", "add", "complete"),
    async execute(_callId, call) {
      const record = (event: LedgerEvent): void => {
        pi.appendEntry(ledgerType, event)
        durable = applyEvent(durable, event)
      }
      if (call.action === "add") {
        record({ type: "todo_added", id: Math.max(0, ...durable.map(({ id }) => id)) + 1, text: textOf(call) })
      } else if (call.action === "complete" && !find(durable, call.id).done) {
        record({ type: "todo_completed", id: find(durable, call.id).id })
      }
      return answer(show(durable))
    }
  })
}
