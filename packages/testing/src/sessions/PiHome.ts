/**
 * A home folder with sessions in every layout that Pi leaves, and what surrounds them: files that are not sessions,
 * links, loops, pipes, Pi's other stores and its credentials. States what a catalog must find.
 *
 * Uses only plain files and `node:sqlite`, so it is independent of the programs under test. Tests make the containers
 * of a store from the sessions in `forContainers`.
 */
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"

/** A session in the home, as its file says. */
export interface HomeSession {
  /** Absolute. */
  readonly path: string
  readonly format: "jsonl" | "sqlite_v1"
  readonly id: string
  readonly cwd: string
  readonly timestamp: string
  readonly messages: number
  readonly name: string | undefined
}

/** The environment of a process, and the sessions that Pi's rules lead to in it. */
export interface HomeEnvironment {
  readonly variables: { readonly [name: string]: string }
  readonly sessions: ReadonlyArray<HomeSession>
}

export interface PiHome {
  readonly home: string
  readonly agentDir: string
  /** Pi's own directory of sessions. */
  readonly sessionsRoot: string
  /** Where Pi finds sessions without a variable: its own directory, and the one that its settings name. */
  readonly usual: HomeEnvironment
  /** With `PI_CODING_AGENT_DIR`. */
  readonly otherAgent: HomeEnvironment
  /** With `PI_CODING_AGENT_SESSION_DIR`, which is flat. */
  readonly flat: HomeEnvironment
  /** Files below the folders of `usual` that look like sessions but are not, or cannot be read. */
  readonly others: ReadonlyArray<string>
  /** Sessions of `usual` for containers: one keeps its file, the other one's file is removed. */
  readonly forContainers: { readonly beside: HomeSession; readonly instead: HomeSession }
  /** Every file with credentials. Nothing may open or stat them unless the user names one. */
  readonly credentials: ReadonlyArray<string>
  /** Links to directories and files that are also found without them. */
  readonly links: ReadonlyArray<string>
  /** What Pi stores beside its sessions, by the ids of the documentation. */
  readonly documents: { readonly [store: string]: string }
}

interface Draft {
  readonly id?: string
  readonly cwd?: string
  readonly timestamp?: string
  readonly name?: string
  /** Names that were given before. */
  readonly formerNames?: ReadonlyArray<string>
  readonly texts?: ReadonlyArray<string>
  readonly header?: { readonly [key: string]: unknown }
}

/** Ids like Pi's, the same in every home. */
const sessionId = (n: number): string =>
  `019e5691-${String(n).padStart(4, "0")}-7000-8000-${String(n * 7919).padStart(12, "0")}`

class Writer {
  readonly sessions: Array<HomeSession> = []
  #made = 0

  /** The lines of a session, and the facts about it. */
  lines(path: string, draft: Draft, format: HomeSession["format"] = "jsonl"): ReadonlyArray<string> {
    const n = ++this.#made
    const id = draft.id ?? sessionId(n)
    const timestamp = draft.timestamp ?? new Date(Date.UTC(2026, 1, n, 8, 30)).toISOString()
    const cwd = draft.cwd ?? "/home/ann/work/app"
    const lines: Array<string> = [JSON.stringify({ type: "session", version: 3, id, timestamp, cwd, ...draft.header })]
    let parentId: string | null = null
    const add = (entry: { readonly [key: string]: unknown }): void => {
      const entryId = (n * 0x1000 + lines.length).toString(16).padStart(8, "0")
      lines.push(JSON.stringify({ ...entry, id: entryId, parentId, timestamp }))
      parentId = entryId
    }
    for (const name of draft.formerNames ?? []) add({ type: "session_info", name })
    const texts = draft.texts ?? [`question ${n}`]
    for (const [at, text] of texts.entries()) {
      const role = at % 2 === 0 ? "user" : "assistant"
      add({ type: "message", message: { role, content: [{ type: "text", text }], timestamp: Date.parse(timestamp) } })
    }
    if (draft.name !== undefined) add({ type: "session_info", name: draft.name })
    const name = draft.name === undefined ? draft.formerNames?.at(-1) : draft.name
    this.sessions.push({
      path,
      format,
      id,
      cwd: String(draft.header?.["cwd"] ?? cwd),
      timestamp,
      messages: texts.length,
      name: name === undefined || name.trim() === "" ? undefined : name.trim()
    })
    return lines
  }

  /** A session as Pi writes it. */
  session(path: string, draft: Draft = {}): HomeSession {
    write(
      path,
      this.lines(path, draft)
        .map((line) => `${line}\n`)
        .join("")
    )
    return this.last
  }

  get last(): HomeSession {
    const session = this.sessions.at(-1)
    if (session === undefined) throw new Error("no session was written yet")
    return session
  }

  /** Returns and forgets the sessions written since the last call. */
  take(): ReadonlyArray<HomeSession> {
    return this.sessions.splice(0)
  }
}

const write = (path: string, content: string | Uint8Array): string => {
  Fs.mkdirSync(Path.dirname(path), { recursive: true })
  Fs.writeFileSync(path, content)
  return path
}

/** A session as a database of lines. */
const writeDatabase = (path: string, lines: ReadonlyArray<string>): void => {
  const database = new DatabaseSync(path)
  database.exec("CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT")
  const put = database.prepare("INSERT INTO session_line VALUES (?, ?)")
  for (const [at, line] of lines.entries()) put.run(at, Buffer.from(`${line}\n`))
  database.close()
}

/** Makes the home in a directory that is there and empty. */
export const make = (home: string): PiHome => {
  const writer = new Writer()
  const agentDir = Path.join(home, ".pi", "agent")
  const root = Path.join(agentDir, "sessions")

  const project = Path.join(root, "--home-ann-work-app--")
  writer.session(Path.join(project, "2026-02-01T08-30-00-000Z_a.jsonl"), { texts: ["one", "two", "three"] })
  const beside = writer.session(Path.join(project, "2026-02-02T08-30-00-000Z_b.jsonl"))
  const instead = writer.session(Path.join(project, "2026-02-03T08-30-00-000Z_c.jsonl"))
  namedSessions(writer, root)
  strangeHeaders(writer, root)
  nested(writer, root)
  const settingsDir = Path.join(home, "from settings")
  writer.session(Path.join(settingsDir, "flat.jsonl"), { cwd: "/home/ann/elsewhere" })
  const links = linksIn(root, project, settingsDir, home)
  const usual = writer.take()

  const otherAgent = Path.join(home, "agent two")
  writer.session(Path.join(otherAgent, "sessions", "--srv-api--", "d.jsonl"), { cwd: "/srv/api" })
  const other = writer.take()

  const flatDir = Path.join(home, "flat")
  writer.session(Path.join(flatDir, "e.jsonl"), { cwd: "/srv/one" })
  writer.session(Path.join(flatDir, "f.jsonl"), { cwd: "/srv/two" })
  const flat = writer.take()

  const { credentials, documents } = stores(agentDir, otherAgent, root, settingsDir)
  return {
    home,
    agentDir,
    sessionsRoot: root,
    usual: { variables: { HOME: home }, sessions: byPath(usual) },
    otherAgent: { variables: { HOME: home, PI_CODING_AGENT_DIR: "~/agent two" }, sessions: byPath(other) },
    flat: {
      variables: { HOME: home, PI_CODING_AGENT_SESSION_DIR: flatDir },
      sessions: byPath([...usual, ...flat])
    },
    others: noSessions(root).sort(),
    forContainers: { beside, instead },
    credentials,
    links,
    documents
  }
}

const byPath = (sessions: ReadonlyArray<HomeSession>): ReadonlyArray<HomeSession> =>
  sessions.toSorted((a, b) => (a.path < b.path ? -1 : 1))

/** Names and directories in many scripts; renamed and removed sessions. */
const namedSessions = (writer: Writer, root: string): void => {
  const names = [
    "Ответы на вопросы",
    "日本語のセッション",
    "한국어 세션",
    "جلسة عمل",
    "हिन्दी सत्र",
    "e\u0301te\u0301 — combining",
    "👩‍👩‍👧‍👦 family 🇩🇪",
    "esc \u001b[31mred\u001b[0m \u202egnirts"
  ]
  for (const [at, name] of names.entries()) {
    const cwd = `/home/ann/${at % 2 === 0 ? name.replaceAll(/[/\\:]/g, "") : "work/app"}`
    writer.session(Path.join(root, `--home-ann-${at}--`, `${at} ${"имя 名"}.jsonl`), { cwd, name })
  }
  writer.session(Path.join(root, "--names--", "renamed.jsonl"), { formerNames: ["first", "second"], name: " third " })
  writer.session(Path.join(root, "--names--", "cleared.jsonl"), { formerNames: ["first"], name: "" })
}

/** Unusual but valid headers. */
const strangeHeaders = (writer: Writer, root: string): void => {
  const directory = Path.join(root, "--headers--")
  const at = (name: string): string => Path.join(directory, `${name}.jsonl`)
  const joined = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\n`).join("")
  writer.session(at("windows"), { cwd: "C:\\Users\\ann\\work: new" })
  writer.session(at("windows share"), { cwd: "\\\\server\\share\\proj" })
  writer.session(at("long"), { header: { note: "x".repeat(5000) } })
  writer.session(at("very long"), { header: { note: "y".repeat(200_000) } })
  writer.session(at("forked"), { header: { parentSession: at("long") } })
  writer.session(at("version 1"), { header: { version: undefined } })
  write(at("bom"), `\ufeff${joined(writer.lines(at("bom"), {}))}`)
  write(at("blank lines"), `\n  \n${joined(writer.lines(at("blank lines"), {}))}`)
  write(at("damaged before"), `{"torn\n${joined(writer.lines(at("damaged before"), {}))}`)
  write(at("crlf"), joined(writer.lines(at("crlf"), {})).replaceAll("\n", "\r\n"))
  write(at("no newline"), writer.lines(at("no newline"), { texts: [] }).join("\n"))
  write(at("other order"), joined(reordered(writer.lines(at("other order"), {}))))
}

/** The header with its type last and blanks between. */
const reordered = ([header = "{}", ...rest]: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { type, ...fields } = JSON.parse(header)
  return [JSON.stringify({ ...fields, type }, null, " ").replaceAll("\n", " "), ...rest]
}

const nested = (writer: Writer, root: string): void => {
  writer.session(Path.join(root, "archive", "2025", "--deep--", "down", "here", "g.jsonl"))
  writer.session(Path.join(root, "directory.jsonl", "h.jsonl"))
  writer.session(Path.join(root, "top.jsonl"))
  const database = Path.join(root, "archive", "i.sqlite")
  writeDatabase(database, writer.lines(database, { name: "in a database" }, "sqlite_v1"))
}

/** Links to a directory, to a file, in a circle, and to another home of Pi. */
const linksIn = (root: string, project: string, settingsDir: string, home: string): ReadonlyArray<string> => {
  const links: ReadonlyArray<readonly [string, string]> = [
    [Path.join(root, "a link to a project"), project],
    [Path.join(root, "a link.jsonl"), Path.join(project, "2026-02-01T08-30-00-000Z_a.jsonl")],
    [Path.join(root, "archive", "loop"), root],
    [Path.join(root, "archive", "agent"), Path.join(home, ".pi", "agent")],
    [Path.join(settingsDir, "auth.json"), Path.join(home, ".pi", "agent", "auth.json")]
  ]
  for (const [link, target] of links) Fs.symlinkSync(target, link)
  return links.map(([link]) => link)
}

/** Every kind of file that is not a session. */
const noSessions = (root: string): Array<string> => {
  const directory = Path.join(root, "--none--")
  const at = (name: string): string => Path.join(directory, name)
  const others = [
    write(at("empty.jsonl"), ""),
    write(at("text.jsonl"), "notes of a person\n"),
    write(at("rows.jsonl"), '{"a":1}\n{"a":2}\n'),
    write(at("array.jsonl"), "[1,2,3]\n"),
    write(
      at("headless.jsonl"),
      '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}\n'
    ),
    write(at("late header.jsonl"), '{"type":"custom","id":"a"}\n{"type":"session","version":3,"id":"late"}\n'),
    write(at("no id.jsonl"), '{"type":"session","version":3}\n'),
    write(at("binary.jsonl"), Buffer.alloc(4096, 0xfe)),
    write(at("one long line.jsonl"), "z".repeat((1 << 20) + 100)),
    write(at("no database.sqlite"), "no database")
  ]
  const foreign = new DatabaseSync(at("foreign.sqlite"))
  foreign.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)")
  foreign.close()
  others.push(at("foreign.sqlite"))
  Fs.symlinkSync("nowhere", at("dangling.jsonl"))
  Fs.symlinkSync("itself.jsonl", at("itself.jsonl"))
  others.push(at("dangling.jsonl"), at("itself.jsonl"))
  execFileSync("mkfifo", [at("pipe.jsonl")])
  others.push(at("pipe.jsonl"))
  write(at("README.md"), "no session by its name, so nobody speaks of it\n")
  return others
}

const SECRET = '{"anthropic":{"type":"api_key","key":"sk-secret"}}'

/** What Pi keeps beside its sessions. */
const stores = (agentDir: string, otherAgent: string, root: string, settingsDir: string) => {
  const at = (name: string): string => Path.join(agentDir, name)
  write(at("settings.json"), JSON.stringify({ theme: "dark", sessionDir: settingsDir }))
  write(at("models.json"), "{}")
  write(at("pi-debug.log"), "[debug] nothing\n")
  for (const name of ["themes", "tools", "bin", "prompts"]) write(Path.join(at(name), "one.txt"), "x\n")
  write(Path.join(at("npm"), "node_modules", "ext", "package.json"), "{}")
  const credentials = [
    write(at("auth.json"), SECRET),
    write(Path.join(otherAgent, "auth.json"), SECRET),
    write(Path.join(root, "auth.json"), SECRET)
  ]
  return {
    credentials,
    documents: {
      "pi.settings": at("settings.json"),
      "pi.models": at("models.json"),
      "pi.themes": at("themes"),
      "pi.tools": at("tools"),
      "pi.bin": at("bin"),
      "pi.prompts": at("prompts"),
      "pi.debug_log": at("pi-debug.log"),
      "pi.extensions_npm": at("npm")
    }
  }
}

/** Writes many small sessions below a directory, fifty in each folder. Returns their number. */
export const makeMany = (directory: string, count: number): number => {
  for (let n = 0; n < count; n++) {
    const folder = Path.join(directory, `--home-ann-project-${Math.floor(n / 50)}--`)
    if (n % 50 === 0) Fs.mkdirSync(folder, { recursive: true })
    const timestamp = new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString()
    const id = sessionId(n)
    const header = { type: "session", version: 3, id, timestamp, cwd: `/home/ann/project/${Math.floor(n / 50)}` }
    const message = { role: "user", content: [{ type: "text", text: `question ${n} ${"x".repeat(1000)}` }] }
    const entry = { type: "message", id: "00000001", parentId: null, timestamp, message }
    const name = `${timestamp.replaceAll(/[:.]/g, "-")}_${id}.jsonl`
    Fs.writeFileSync(Path.join(folder, name), `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`)
  }
  return count
}
