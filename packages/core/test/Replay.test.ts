/** Two todo lists: todos that rewind with the branch, and todos that stay done. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Json, type JsonObject } from "../src/Json.ts"
import * as Replay from "../src/Replay.ts"
import * as Session from "../src/Session.ts"
import * as SessionFork from "../src/SessionFork.ts"
import { SessionEntry } from "../src/SessionLine.ts"
import { type SessionTree } from "../src/SessionTree.ts"
import * as TreeNavigation from "../src/TreeNavigation.ts"
import * as samples from "./support/samples.ts"

const { assistant, entry, session, toolResult, user } = samples

const Todo = Schema.Struct({ id: Schema.Number, text: Schema.String, done: Schema.Boolean })
type Todo = typeof Todo.Type

const at = (tree: SessionTree, id: string): SessionTree => {
  const moved = tree.branch(id)
  if (moved === undefined) throw new Error(`no entry ${id}`)
  return moved
}

const forkHeader: SessionFork.ForkHeader = { id: "fork", timestamp: samples.timestamp, cwd: "/work" }

const forkAt = (session: Session.Session, leafId: string): SessionTree => {
  const fork = SessionFork.branch(session, leafId, forkHeader)
  if (fork === undefined) throw new Error(`no entry ${leafId}`)
  // As another process reads it.
  return Session.read(Session.toBytes(fork)).tree
}

const show = (todos: ReadonlyArray<Todo>): ReadonlyArray<string> =>
  todos.map(({ id, text, done }) => `[${done ? "x" : " "}] #${id}: ${text}`)

describe("todos that match the branch (snapshots in tool results)", () => {
  const TodoSnapshot = Schema.Struct({ todos: Schema.Array(Todo), nextId: Schema.Number })
  type TodoSnapshot = typeof TodoSnapshot.Type

  const initial: TodoSnapshot = { todos: [], nextId: 1 }
  const unit = Replay.snapshot("todo", TodoSnapshot)
  const todos = Replay.make({ initial, source: Replay.branch(), unit })
  const shown = (tree: SessionTree): ReadonlyArray<string> => show(todos(tree).todos)

  const milk = { id: 1, text: "milk", done: false }
  const bread = { id: 2, text: "bread", done: false }
  const snapshot = (todos: ReadonlyArray<Json>): JsonObject => ({ todos, nextId: todos.length + 1 })

  /** add milk - add bread - toggle milk, and on another branch from the first: clear. */
  const story = session(
    user("ask", null),
    toolResult("add milk", "ask", "todo", snapshot([milk])),
    toolResult("add bread", "add milk", "todo", snapshot([milk, bread])),
    toolResult("toggle milk", "add bread", "todo", snapshot([{ ...milk, done: true }, bread])),
    assistant("done", "toggle milk"),
    toolResult("clear", "add milk", "todo", snapshot([])),
    assistant("cleared", "clear")
  )
  const whole = at(story.tree, "done")

  it("are what the last snapshot on the branch says", () => {
    assert.deepStrictEqual(shown(whole), ["[x] #1: milk", "[ ] #2: bread"])
    assert.deepStrictEqual(todos(whole).nextId, 3)
    assert.deepStrictEqual(shown(story.tree), [])
  })

  it("rewind and come back with /tree", () => {
    const steps = ["ask", "add milk", "add bread", "toggle milk", "cleared", "done"]
    assert.deepStrictEqual(
      steps.map((id) => shown(at(whole, id))),
      [
        [],
        ["[ ] #1: milk"],
        ["[ ] #1: milk", "[ ] #2: bread"],
        ["[x] #1: milk", "[ ] #2: bread"],
        [],
        ["[x] #1: milk", "[ ] #2: bread"]
      ]
    )
    assert.deepStrictEqual(todos(whole.resetLeaf()), initial)
  })

  it("are known before a move from the old leaf, and after it from the new leaf", () => {
    const preparation = TreeNavigation.prepare(whole, "add milk")
    if (preparation === undefined) throw new Error("no such entry")
    const stamp = { timestamp: samples.timestamp, seed: "move" }
    const { tree, event } = TreeNavigation.navigate(whole, preparation, stamp, { summary: "bread was added" })
    const before = Replay.make({ initial, source: Replay.branch(event.oldLeafId), unit })(tree)
    assert.deepStrictEqual(show(before.todos), ["[x] #1: milk", "[ ] #2: bread"])
    assert.deepStrictEqual(shown(tree), ["[ ] #1: milk"])
    const nowhere = Replay.make({ initial, source: Replay.branch(null), unit })(tree)
    assert.deepStrictEqual(nowhere, initial)
  })

  it("are in a fork as at the forked entry", () => {
    assert.deepStrictEqual(shown(forkAt(story, "add bread")), ["[ ] #1: milk", "[ ] #2: bread"])
    assert.deepStrictEqual(shown(forkAt(story, "cleared")), [])
  })

  it("ignore details that are not a snapshot, other tools and other entries", () => {
    const bad = [undefined, {}, { todos: "milk" }, { todos: [{ id: "1" }], nextId: 1 }]
    const { tree } = session(
      toolResult("good", null, "todo", snapshot([milk])),
      ...bad.map((details, at) => toolResult(`bad ${at}`, at === 0 ? "good" : `bad ${at - 1}`, "todo", details)),
      toolResult("other tool", "bad 3", "not todo", snapshot([])),
      entry("custom", "custom", "other tool", { customType: "todo", data: snapshot([]) }),
      samples.message("user", "custom", { role: "user", content: "x", toolName: "todo", details: snapshot([]) })
    )
    assert.deepStrictEqual(shown(tree), ["[ ] #1: milk"])
  })
})

describe("todos that stay done (a ledger of custom entries)", () => {
  const TodoEvent = Schema.Union([
    Schema.Struct({ type: Schema.Literal("todo_added"), id: Schema.Number, text: Schema.String }),
    Schema.Struct({ type: Schema.Literal("todo_completed"), id: Schema.Number })
  ])

  const initial: ReadonlyArray<Todo> = []
  const unit = Replay.ledger<ReadonlyArray<Todo>, typeof TodoEvent.Type>(
    "durable-todo-ledger",
    TodoEvent,
    (todos, event) =>
      event.type === "todo_added"
        ? [...todos.filter(({ id }) => id !== event.id), { id: event.id, text: event.text, done: false }].sort(
            (a, b) => a.id - b.id
          )
        : todos.map((todo) => (todo.id === event.id ? { ...todo, done: true } : todo))
  )
  const todos = Replay.make({ initial, source: Replay.session, unit })
  const shown = (tree: SessionTree): ReadonlyArray<string> => show(todos(tree))

  const custom = (id: string, parentId: string | null, data: Json | undefined, customType = "durable-todo-ledger") =>
    entry("custom", id, parentId, { customType, data })
  const added = (id: string, parentId: string | null, todo: number, text: string) =>
    custom(id, parentId, { type: "todo_added", id: todo, text })
  const completed = (id: string, parentId: string | null, todo: number) =>
    custom(id, parentId, { type: "todo_completed", id: todo })

  /** Both todos are added on the way; one is completed on each branch. */
  const story = session(
    user("ask", null),
    added("add 1", "ask", 1, "migrate"),
    added("add 2", "add 1", 2, "review"),
    completed("complete 1", "add 2", 1),
    assistant("branch A", "complete 1"),
    completed("complete 2", "add 2", 2),
    assistant("branch B", "complete 2")
  )
  const all = ["[x] #1: migrate", "[x] #2: review"]

  it("stay done at every leaf of the file", () => {
    for (const id of ["ask", "add 1", "complete 1", "branch A", "branch B"]) {
      assert.deepStrictEqual(shown(at(story.tree, id)), all, id)
    }
    assert.deepStrictEqual(shown(story.tree.resetLeaf()), all)
  })

  it("stay done after messages on other branches", () => {
    const moved = at(story.tree, "ask")
    assert.deepStrictEqual(shown(moved.append([SessionEntry.make(user("later", moved.leafId))])), all)
  })

  it("lose in a fork the entries outside the copied path", () => {
    assert.deepStrictEqual(shown(forkAt(story, "branch A")), ["[x] #1: migrate", "[ ] #2: review"])
    assert.deepStrictEqual(shown(forkAt(story, "branch B")), ["[ ] #1: migrate", "[x] #2: review"])
    assert.deepStrictEqual(shown(forkAt(story, "add 1")), ["[ ] #1: migrate"])
    assert.deepStrictEqual(shown(SessionFork.whole(story, forkHeader).tree), all)
  })

  it("survive forks when their source is outside the session", () => {
    const outside = Replay.make({ initial, source: Replay.external(story.tree.getEntries()), unit })
    assert.deepStrictEqual(show(outside(forkAt(story, "add 1"))), all)
    assert.deepStrictEqual(show(outside(session().tree)), all)
  })

  it("can rewind instead: source and unit are independent", () => {
    const rewinding = Replay.make({ initial, source: Replay.branch(), unit })
    assert.deepStrictEqual(show(rewinding(at(story.tree, "branch A"))), ["[x] #1: migrate", "[ ] #2: review"])
    assert.deepStrictEqual(show(rewinding(at(story.tree, "ask"))), [])
  })

  it("ignore data that is not an event, and other types of entries", () => {
    const bad: ReadonlyArray<Json | undefined> = [undefined, null, 7, {}, { type: "todo_added", id: 5 }, { type: "?" }]
    const { tree } = session(
      added("good", null, 1, "migrate"),
      ...bad.map((data, at) => custom(`bad ${at}`, "good", data)),
      custom("other", "good", { type: "todo_completed", id: 1 }, "another ledger"),
      entry("custom_message", "message", "good", {
        customType: "durable-todo-ledger",
        content: "x",
        data: { type: "todo_completed", id: 1 }
      }),
      completed("unknown todo", "good", 99)
    )
    assert.deepStrictEqual(shown(tree), ["[ ] #1: migrate"])
  })

  it("are a pure function of the entries: same input, same output, input unchanged", () => {
    const entries = story.tree.getEntries()
    const before = entries.map(samples.describeLine)
    const first = Replay.reconstruct(initial, unit, entries)
    assert.deepStrictEqual(Replay.reconstruct(initial, unit, entries), first)
    assert.deepStrictEqual(entries.map(samples.describeLine), before)
    assert.deepStrictEqual(initial, [])
    // The unit has no state of an earlier call.
    assert.deepStrictEqual(Replay.reconstruct(initial, unit, []), [])
    const again = Session.read(Session.toBytes(story)).tree
    assert.deepStrictEqual(todos(again), first)
  })
})

describe("entriesOf", () => {
  const { tree } = session(user("a", null), user("b", "a"), user("c", "a"))
  const idsOf = (source: Replay.Source) => samples.ids(Replay.entriesOf(source, tree))

  it("gives the branch at the leaf or elsewhere, the whole session, or external entries", () => {
    assert.deepStrictEqual(idsOf(Replay.branch()), ["a", "c"])
    assert.deepStrictEqual(idsOf(Replay.branch("b")), ["a", "b"])
    assert.deepStrictEqual(idsOf(Replay.branch(null)), [])
    assert.deepStrictEqual(idsOf(Replay.branch("unknown")), [])
    assert.deepStrictEqual(idsOf(Replay.session), ["a", "b", "c"])
    assert.deepStrictEqual(idsOf(Replay.external([SessionEntry.make(user("x", null))])), ["x"])
  })
})
