/** The viewer's server: who may ask, what it answers, and what it redacts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import { type IncomingHttpHeaders, request } from "node:http"
import * as Path from "node:path"
import { StoreMigration } from "@pi-sessions/store/StoreMigration"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { keyOf } from "../src/SessionKey.ts"
import type * as ViewModel from "../src/ViewModel.ts"
import { fixtures, optionsOf, serve, services, writeSession } from "./support/viewing.ts"

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

/** Sends a request with any headers; fetch does not allow to set Host. */
const ask = (
  url: string,
  {
    body,
    headers = {},
    method = "GET"
  }: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {}
): Effect.Effect<Answer> =>
  Effect.promise(
    () =>
      new Promise((resolve, reject) => {
        const { hostname, origin, port } = new URL(url)
        const call = request({ hostname, port, path: url.slice(origin.length), method, headers }, (response) => {
          const pieces: Array<Buffer> = []
          response.on("data", (piece: Buffer) => pieces.push(piece))
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              body: Buffer.concat(pieces).toString(),
              headers: response.headers
            })
          )
        })
        call.on("error", reject)
        call.end(body)
      })
  )

const json = <A>(url: string): Effect.Effect<A> => Effect.map(ask(url), ({ body }): A => JSON.parse(body))

const branches = Path.join(fixtures, "sessions/project/branches.jsonl")
const key = keyOf(branches)

describe("the guard", () => {
  it.live("refuses requests without the token", () =>
    Effect.gen(function* () {
      const { origin, token, url } = yield* serve(yield* optionsOf(branches))
      assert.strictEqual((yield* ask(url)).status, 200)
      const others = [
        "/",
        "/api/home",
        `/${token.slice(0, -1)}/api/home`,
        `/${token}x/`,
        `//${token}/`,
        `/x/../${token}/`
      ]
      for (const path of others) {
        const { body, status } = yield* ask(origin + path)
        assert.strictEqual(status, 403, path)
        assert.notInclude(body, token)
      }
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("refuses other host names", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(yield* optionsOf(branches))
      const { port } = new URL(url)
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
        assert.strictEqual((yield* ask(url, { headers: { host } })).status, 200, host)
      }
      for (const host of [
        `evil.example:${port}`,
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "0.0.0.0"
      ]) {
        assert.strictEqual((yield* ask(url, { headers: { host } })).status, 403, host)
      }
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("refuses requests of other sites, except visits of the page", () =>
    Effect.gen(function* () {
      const { origin, url } = yield* serve(yield* optionsOf(branches))
      const home = `${url}api/home`
      const status = (at: string, headers: Record<string, string>, method = "GET") =>
        Effect.map(ask(at, { headers, method }), (answer) => answer.status)
      assert.strictEqual(yield* status(home, { origin, "sec-fetch-site": "same-origin" }), 200)
      assert.strictEqual(yield* status(home, { origin: "http://evil.example" }), 403)
      assert.strictEqual(yield* status(home, { origin: "null" }), 403)
      assert.strictEqual(yield* status(home, { "sec-fetch-site": "cross-site" }), 403)
      assert.strictEqual(yield* status(home, { "sec-fetch-site": "same-site" }), 403)
      const visit = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
      assert.strictEqual(yield* status(url, visit), 200)
      assert.strictEqual(
        yield* status(`${url}api/marks`, { ...visit, "content-type": "application/json" }, "POST"),
        403
      )
      assert.strictEqual(yield* status(url, { ...visit, "sec-fetch-dest": "iframe" }), 403)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("sends a policy that allows only the page's own script", () =>
    Effect.gen(function* () {
      const { origin, url } = yield* serve(yield* optionsOf(branches))
      for (const at of [url, `${url}api/home`, `${url}nothing`, `${origin}/`]) {
        const { headers } = yield* ask(at)
        const policy = String(headers["content-security-policy"])
        assert.match(
          policy,
          /^default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'; img-src data:; connect-src 'self'; /u
        )
        assert.notMatch(policy, /unsafe|\*|https?:/u)
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
        assert.strictEqual(headers["referrer-policy"], "no-referrer")
        assert.strictEqual(headers["cache-control"], "no-store")
        assert.isUndefined(headers["access-control-allow-origin"])
      }
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("an error", () => {
  it.live("is 404 for unknown paths, also of files, and 400 for malformed questions", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(yield* optionsOf(branches))
      const status = (path: string) => Effect.map(ask(url + path), (answer) => answer.status)
      for (const path of [
        "nothing",
        "api",
        "api/nothing",
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "api/sessions/0123456789abcdef",
        "api/dataset",
        "api/dataset/lines?file=/etc/passwd&from=0&count=1"
      ]) {
        assert.strictEqual(yield* status(path), 404, path)
      }
      for (const path of [
        "api/sessions/..%2f..%2fetc%2fpasswd",
        `api/sessions/${key}/entries?at=1`,
        `api/sessions/${key}/entries?at=-1-1`,
        `api/sessions/${key}/entries`,
        `api/sessions/${key}/branch?leaf=1e99&filter=all`,
        `api/sessions/${key}/branch?leaf=1&filter=none`,
        `api/sessions/${key}/tree?filter=all&from=0.5&count=1`,
        "api/summaries?keys=x"
      ]) {
        assert.strictEqual(yield* status(path), 400, path)
      }
      assert.deepStrictEqual(yield* json(`${url}api/sessions/${key}/entries?at=9999-500`), [])
      assert.deepStrictEqual(yield* json(`${url}api/sessions/${key}/branch?leaf=99999&filter=all`), [])
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("is 422 for a session that was removed, replaced or truncated; the server goes on", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = Path.join(folder, "one.jsonl")
      Fs.copyFileSync(branches, file)
      const { url } = yield* serve(yield* optionsOf(folder))
      const at = `${url}api/sessions/${keyOf(file)}`
      assert.strictEqual((yield* ask(at)).status, 200)
      Fs.rmSync(file)
      assert.strictEqual((yield* ask(at)).status, 422)
      Fs.writeFileSync(file, "no session\n")
      assert.strictEqual((yield* ask(at)).status, 422)
      Fs.copyFileSync(branches, file)
      assert.strictEqual((yield* ask(at)).status, 200)
      Fs.truncateSync(file, 400)
      const { body, status } = yield* ask(`${at}/entries?at=5-1`)
      assert.strictEqual(status, 422)
      assert.include(body, "open the session again")
      assert.strictEqual((yield* ask(`${url}api/home`)).status, 200)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("a session", () => {
  it.live("that has grown is read again when it is opened again", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = Path.join(folder, "one.jsonl")
      Fs.copyFileSync(branches, file)
      const { url } = yield* serve(yield* optionsOf(folder))
      const at = `${url}api/sessions/${keyOf(file)}`
      const before = yield* json<ViewModel.SessionPage>(at)
      const leaf = before.branches[0]?.id ?? null
      Fs.appendFileSync(
        file,
        `${JSON.stringify({ type: "message", id: "new", parentId: leaf, timestamp: "2026-01-05T10:00:00.000Z", message: { role: "user", content: "and now" } })}\n`
      )
      const after = yield* json<ViewModel.SessionPage>(at)
      assert.strictEqual(after.entries, before.entries + 1)
      assert.strictEqual(after.branches[0]?.says, "and now")
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("shows an entry on the shown branch, else on the active branch, else on its own branch", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const user = (id: string, parentId: string | null) => ({
        type: "message",
        id,
        parentId,
        timestamp: TIME,
        message: { role: "user", content: id }
      })
      const file = writeSession(Path.join(folder, "one.jsonl"), [
        { type: "session", version: 3, id: "s", timestamp: TIME, cwd: "/" },
        user("a", null),
        user("b", "a"),
        user("c", "b"),
        user("d", "b"),
        user("e", "d"),
        user("f", "a"),
        user("g", "f"),
        user("other", null)
      ])
      const { url } = yield* serve(yield* optionsOf(folder))
      const ids = ["a", "b", "c", "d", "e", "f", "g", "other"]
      const end = (entry: string, leaf: string) =>
        Effect.map(
          json<number>(`${url}api/sessions/${keyOf(file)}/end?entry=${ids.indexOf(entry)}&leaf=${ids.indexOf(leaf)}`),
          (index) => ids[index]
        )
      assert.strictEqual(yield* end("b", "c"), "c")
      assert.strictEqual(yield* end("f", "c"), "g")
      assert.strictEqual(yield* end("d", "c"), "e")
      assert.strictEqual(yield* end("b", "g"), "e")
      assert.strictEqual(yield* end("other", "g"), "other")
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("has a tree, entries, samples and health, with any damage", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(yield* optionsOf(fixtures))
      const rows = yield* json<ReadonlyArray<ViewModel.SessionRow>>(`${url}api/sessions`)
      assert.isAbove(rows.length, 50)
      for (const { key, path } of rows) {
        const at = `${url}api/sessions/${key}`
        const page = yield* json<ViewModel.SessionPage>(at)
        const entries = yield* json<ReadonlyArray<ViewModel.EntryRow>>(`${at}/entries?at=0-500`)
        assert.strictEqual(entries.length, page.entries, path)
        assert.deepStrictEqual(
          entries.map(({ entry }) => entry),
          entries.map((_, index) => index),
          path
        )
        const tree = yield* json<ViewModel.TreePage>(`${at}/tree?filter=all&all=1&from=0&count=500`)
        // Entries of type usage are in none of Pi's lists.
        const listed = entries.filter(({ type }) => type !== "usage")
        assert.isAtMost(tree.total, listed.length, path)
        for (const what of ["samples", "health"]) {
          const { status } = yield* ask(`${at}/${what}`)
          assert.strictEqual(status, 200, `${path}: ${what}`)
        }
      }
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("health", () => {
  it.live("has the findings of the doctor, and the store's state, checkpoint, ledger and broken invariants", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = Path.join(folder, "one.jsonl")
      Fs.copyFileSync(branches, file)
      const migration = yield* StoreMigration
      const { entryCount } = yield* migration.migrate(file)
      const damaged = Path.join(fixtures, "damaged/unknown-parent.jsonl")
      const { sessions } = yield* optionsOf(folder)
      const [container] = sessions
      assert.strictEqual(container?.format, "native_v2")
      const { url } = yield* serve(
        yield* optionsOf(folder, { sessions: [...sessions, ...(yield* optionsOf(damaged)).sessions] })
      )
      const at = `${url}api/sessions/${keyOf(container?.path ?? "")}`
      const { findings, store } = yield* json<ViewModel.SessionHealth>(`${at}/health`)
      assert.deepStrictEqual(findings, [])
      assert.strictEqual(store?.state, "MIGRATED")
      assert.strictEqual(store?.entries, entryCount)
      assert.deepInclude(store?.checkpoint, { entries: entryCount, behind: 0 })
      assert.strictEqual(store?.active?.format, "native_v2")
      assert.deepInclude(store?.ledger.at(-1), { phase: "completed", outcome: "ok" })
      assert.deepStrictEqual(store?.findings, [])
      // Entries are read from the container.
      assert.strictEqual((yield* json<ReadonlyArray<unknown>>(`${at}/entries?at=0-500`)).length, entryCount)
      const segment = Path.join(
        container?.path ?? "",
        "segments",
        Fs.readdirSync(Path.join(container?.path ?? "", "segments"))[0] ?? ""
      )
      const bytes = Fs.readFileSync(segment)
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      Fs.writeFileSync(segment, bytes)
      const broken = yield* json<ViewModel.SessionHealth>(`${at}/health`)
      assert.isTrue(broken.store?.findings.some(({ invariant }) => invariant !== null))
      const sick = yield* json<ViewModel.SessionHealth>(`${url}api/sessions/${keyOf(damaged)}/health`)
      assert.strictEqual(sick.store, null)
      assert.deepInclude(
        sick.findings.map(({ code, severity }) => ({ code, severity })),
        { code: "unknown-parent", severity: "error" }
      )
      assert.match(sick.findings[0]?.pi15 ?? "", /^loses: /u)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

const token = ["ghp", "q8Zr2mXw7KcVt4LsBy9NpEa3JdHf6UgR1oTi"].join("_")
const USER = "annabelle"
const HOST = "moonbase"
const TIME = "2026-01-05T10:00:00.000Z"

/** No single line of a key is a secret that a rule can find. */
const pem = [
  "-----BEGIN RSA PRIVATE KEY-----",
  ...Array.from({ length: 12 }, (_, at) => `MIIEpAIBAAKCAQEA${"qW3rT5yU7iO9pA1sD".repeat(2)}${at}`),
  "-----END RSA PRIVATE KEY-----"
].join("\n")

const secret = (): ReadonlyArray<object> => {
  const said = `${token} of ${USER} at ${HOST}\n${pem}`
  const entries: ReadonlyArray<object> = [
    { type: "session_info", name: `about ${token} for ${USER}` },
    { type: "message", message: { role: "user", content: `look at ${said}` } },
    {
      type: "message",
      message: {
        role: "assistant",
        provider: "p",
        model: "m",
        stopReason: "toolUse",
        content: [
          { type: "thinking", thinking: said },
          { type: "text", text: said },
          { type: "toolCall", id: "c1", name: "bash", arguments: { command: `x ${token}`, [token]: { deep: [said] } } }
        ]
      }
    },
    {
      type: "message",
      message: {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "bash",
        content: [{ type: "text", text: `${USER}@${HOST}:~$ ls /home/${USER}\n${said}` }],
        details: { diff: `+1 ${said}`, fullOutputPath: `/home/${USER}/${token}` }
      }
    },
    { type: "custom", customType: token, data: { password: "plain-words-42" } },
    { type: "compaction", summary: said, firstKeptEntryId: "e1", tokensBefore: 1, details: said },
    { type: "branch_summary", fromId: "e1", summary: said },
    {
      type: "message",
      message: { role: "assistant", provider: "p", model: token, stopReason: "error", errorMessage: said, content: [] }
    },
    { type: "label", targetId: "e1", label: `keep ${token}` },
    {
      type: "message",
      message: {
        role: "assistant",
        provider: "p",
        model: "m",
        stopReason: "stop",
        content: [{ type: "text", text: `bye ${HOST}` }]
      }
    }
  ]
  return [
    {
      type: "session",
      version: 3,
      id: "11111111-2222-4333-8444-555555555555",
      timestamp: TIME,
      cwd: `/home/${USER}/${token}`,
      parentSession: `/home/${USER}/old-${token}.jsonl`,
      harness: token
    },
    ...entries.map((entry, at) => ({
      ...entry,
      id: `e${at}`,
      parentId: at === 0 ? null : `e${at - 1}`,
      timestamp: at === 4 ? token : TIME
    }))
  ]
}

const everyAnswer = Effect.fnUntraced(function* (url: string) {
  const rows = yield* json<ReadonlyArray<ViewModel.SessionRow>>(`${url}api/sessions`)
  const answers: Array<readonly [string, Answer]> = []
  const add = Effect.fnUntraced(function* (path: string) {
    answers.push([path, yield* ask(url + path)])
  })
  for (const path of [
    "",
    "api/home",
    "api/sessions",
    "api/marks",
    "api/search?text=look",
    "api/search?text=bye",
    `api/search?text=${token}`,
    "api/search?text=MIIEpAIB"
  ])
    yield* add(path)
  for (const { key } of rows) {
    const at = `api/sessions/${key}`
    yield* add(`api/summaries?keys=${key}`)
    for (const path of ["", "/entries?at=0-50", "/entries?at=0-50&whole=1", "/samples", "/health", "/find?id=e1"])
      yield* add(at + path)
    for (const filter of ["default", "no-tools", "user-only", "labeled-only", "all"]) {
      for (const all of ["", "&all=1"]) yield* add(`${at}/tree?filter=${filter}${all}&from=0&count=100`)
      yield* add(`${at}/branch?leaf=9&filter=${filter}`)
    }
  }
  return answers
})

describe("redaction", () => {
  it.live("removes secrets and names from every answer", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = writeSession(Path.join(folder, "home", USER, `s-${token}.jsonl`), secret())
      const { url } = yield* serve(yield* optionsOf(folder))
      const answers = yield* everyAnswer(url)
      assert.isAtLeast(answers.length, 30)
      for (const [path, { body, status }] of answers) {
        assert.strictEqual(status, 200, path)
        // A sample is shown as in the dataset, where each is redacted on its own.
        const hosts = path.endsWith("/samples") ? [] : [HOST]
        for (const word of [token, USER, ...hosts, "qW3rT5yU7iO9pA1sD", "plain-words-42"])
          assert.notInclude(body, word, `${word} in ${path}`)
      }
      const entries = answers.find(([path]) => path.endsWith("whole=1"))?.[1].body ?? ""
      assert.include(entries, "[REDACTED:github-pat:")
      assert.include(entries, '"id":"e1"')
      // Ids of entries are kept: the page needs them.
      const labelled = answers.find(([path]) => path === `api/sessions/${keyOf(file)}`)?.[1].body ?? ""
      assert.match(labelled, /"labels":\[\{"entry":1,"label":"keep \[REDACTED/u)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("keeps ids of entries, even if they look like secrets", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = writeSession(Path.join(folder, "one.jsonl"), [
        { type: "session", version: 3, id: "s", timestamp: TIME, cwd: `/home/${USER}` },
        {
          type: "message",
          id: USER,
          parentId: null,
          timestamp: TIME,
          message: { role: "user", content: `I am ${USER}` }
        },
        { type: "label", id: "l", parentId: USER, timestamp: TIME, targetId: USER, label: "here" }
      ])
      const { url } = yield* serve(yield* optionsOf(folder))
      const at = `${url}api/sessions/${keyOf(file)}`
      assert.deepStrictEqual((yield* json<ViewModel.SessionPage>(at)).labels, [{ entry: 0, label: "here" }])
      const [row] = yield* json<ReadonlyArray<ViewModel.EntryRow>>(`${at}/entries?at=0-1`)
      assert.strictEqual(row?.id, USER)
      assert.match(JSON.stringify(row?.parts), /I am user-\d+/u)
      assert.strictEqual(yield* json(`${at}/find?id=${USER}`), 0)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("can be turned off", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeSession(Path.join(folder, "one.jsonl"), secret())
      const { url } = yield* serve(yield* optionsOf(folder, { redaction: "off" }))
      assert.isFalse((yield* json<ViewModel.Home>(`${url}api/home`)).isRedacted)
      const answers = yield* everyAnswer(url)
      assert.include(answers.find(([path]) => path.endsWith("whole=1"))?.[1].body ?? "", token)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("does not reveal a secret letter by letter through searches", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeSession(Path.join(folder, "one.jsonl"), secret())
      const { url } = yield* serve(yield* optionsOf(folder))
      for (const text of ["ghp_q8Z", token, "MIIEpAIBAA"]) {
        const { hits } = yield* json<ViewModel.Hits>(`${url}api/search?text=${text}`)
        assert.deepStrictEqual(hits, [], text)
      }
      const { hits } = yield* json<ViewModel.Hits>(`${url}api/search?text=look%20at`)
      assert.strictEqual(hits[0]?.found, "look at")
      assert.match(hits[0]?.after ?? "", /^ \[REDACTED:github-pat:\d+\] of user-\d+ at host-\d+$/u)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

describe("pictures", () => {
  it.live("are sent only if their type cannot contain scripts", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const image = (mimeType: string, data: string) => ({ type: "image", mimeType, data })
      const content = [
        image("image/png", pixel),
        image("image/svg+xml", btoa("<svg onload=alert(1)>")),
        image("image/png", "no base64!"),
        image("text/html", btoa("<script>"))
      ]
      const file = writeSession(Path.join(folder, "one.jsonl"), [
        { type: "session", version: 3, id: "s", timestamp: TIME, cwd: "/" },
        { type: "message", id: "a", parentId: null, timestamp: TIME, message: { role: "user", content } }
      ])
      const shown = yield* serve(yield* optionsOf(folder))
      const at = `api/sessions/${keyOf(file)}/picture?entry=0&picture=`
      assert.deepStrictEqual(yield* json(`${shown.url}${at}0`), { mimeType: "image/png", data: pixel })
      for (const number of [1, 2, 3, 4]) assert.strictEqual((yield* ask(`${shown.url}${at}${number}`)).status, 404)
      const hidden = yield* serve(yield* optionsOf(folder, { withPictures: false }))
      assert.strictEqual((yield* ask(`${hidden.url}${at}0`)).status, 404)
      const [row] = yield* json<ReadonlyArray<ViewModel.EntryRow>>(
        `${shown.url}api/sessions/${keyOf(file)}/entries?at=0-1`
      )
      assert.deepStrictEqual(
        row?.parts.map((part) => part.part === "image" && part.picture),
        [0, null, null, null]
      )
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("marks", () => {
  it.live("are written to their file; sessions are not written", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = Path.join(folder, "state", "marks.json")
      const before = Fs.readFileSync(branches)
      const { url } = yield* serve(yield* optionsOf(branches, { marksFile: file }))
      const mark = (body: object | string, headers: Record<string, string> = { "content-type": "application/json" }) =>
        ask(`${url}api/marks`, {
          method: "POST",
          headers,
          body: typeof body === "string" ? body : JSON.stringify(body)
        })
      assert.deepStrictEqual(yield* json(`${url}api/marks`), {})
      assert.strictEqual((yield* mark({ session: "s1", mark: "accept" })).status, 200)
      yield* mark({ session: "s1", entry: "e1", mark: "reject" })
      yield* mark({ session: "s2", mark: "reject" })
      assert.deepStrictEqual(yield* json(`${url}api/marks`), { s1: "accept", "s1/e1": "reject", s2: "reject" })
      yield* mark({ session: "s1", entry: "e1", mark: null })
      assert.deepStrictEqual(JSON.parse(Fs.readFileSync(file, "utf8")), {
        kind: "pi-sessions/marks/1",
        sessions: { s1: { session: "accept" }, s2: { session: "reject" } }
      })
      // A form of another site can send text/plain, but not JSON.
      assert.strictEqual((yield* mark({ session: "s3", mark: "accept" }, { "content-type": "text/plain" })).status, 403)
      assert.strictEqual((yield* mark("{")).status, 400)
      assert.strictEqual((yield* mark({ session: "s3", mark: "maybe" })).status, 400)
      assert.deepStrictEqual(yield* json(`${url}api/marks`), { s1: "accept", s2: "reject" })
      assert.deepStrictEqual(Fs.readFileSync(branches), before)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("that are set at the same time are all kept", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = Path.join(folder, "marks.json")
      const { url } = yield* serve(yield* optionsOf(branches, { marksFile: file }))
      const ids = Array.from({ length: 40 }, (_, at) => `s${at}`)
      yield* Effect.forEach(
        ids,
        (session) =>
          ask(`${url}api/marks`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ session, mark: "accept" })
          }),
        { concurrency: 40 }
      )
      assert.deepStrictEqual(Object.keys(yield* json<object>(`${url}api/marks`)).sort(), ids.sort())
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("fail without a file of marks, and with a file that has other content", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const body = JSON.stringify({ session: "s", mark: "accept" })
      const post = { method: "POST", headers: { "content-type": "application/json" }, body }
      const without = yield* serve(yield* optionsOf(branches))
      assert.strictEqual((yield* ask(`${without.url}api/marks`, post)).status, 422)
      const file = Path.join(folder, "notes.json")
      Fs.writeFileSync(file, "my notes")
      const foreign = yield* serve(yield* optionsOf(branches, { marksFile: file }))
      assert.strictEqual((yield* ask(`${foreign.url}api/marks`, post)).status, 422)
      assert.strictEqual(Fs.readFileSync(file, "utf8"), "my notes")
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

/** A session with one branch of these messages. */
const talk = (messages: ReadonlyArray<unknown>, cwd = "/"): ReadonlyArray<object> => [
  { type: "session", version: 3, id: "s", timestamp: TIME, cwd },
  ...messages.map((message, at) => ({
    type: "message",
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: TIME,
    message
  }))
]

describe("an entry that is too large or too deep", () => {
  for (const redaction of ["on", "off"] as const) {
    it.live(`does not make answers with its neighbours fail, redaction ${redaction}`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const deep = 100_000
        const nested = `${'{"a":['.repeat(deep)}1${"]}".repeat(deep)}`
        const lines = talk([
          { role: "user", content: "before" },
          { role: "assistant", provider: "p", model: "m", stopReason: "stop", content: ["here"] },
          { role: "user", content: "after" }
        ]).map((line) =>
          JSON.stringify(line).replace('["here"]', `[{"type":"toolCall","id":"c","name":"x","arguments":${nested}}]`)
        )
        const file = writeSession(Path.join(folder, "one.jsonl"), lines)
        const { url } = yield* serve(yield* optionsOf(folder, redaction === "off" ? { redaction } : {}))
        const at = `${url}api/sessions/${keyOf(file)}`
        for (const path of [
          "",
          "/branch?leaf=2&filter=all",
          "/branch?leaf=2&filter=default",
          "/tree?filter=default&from=0&count=9",
          "/tree?filter=all&all=1&from=0&count=9"
        ]) {
          assert.strictEqual((yield* ask(at + path)).status, 200, path)
        }
        const answer = yield* ask(`${at}/entries?at=0-3`)
        assert.strictEqual(answer.status, 200)
        const rows: ReadonlyArray<ViewModel.EntryRow> = JSON.parse(answer.body)
        assert.deepStrictEqual(
          rows.map(({ id }) => id),
          ["e0", "e1", "e2"]
        )
        assert.include(JSON.stringify(rows[1]?.parts), "nested too deeply to be shown")
        const { hits } = yield* json<ViewModel.Hits>(`${url}api/search?text=after`)
        assert.strictEqual(hits.length, 1)
      }).pipe(Effect.scoped, Effect.provide(services))
    )
  }

  it.live("is cut to a size that a browser can draw", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const long = "x".repeat(1 << 20)
      const file = writeSession(
        Path.join(folder, "one.jsonl"),
        talk([
          { role: "user", content: Array.from({ length: 50_000 }, () => ({ type: "text", text: "a\u001b[31mb" })) },
          {
            role: "assistant",
            provider: long,
            model: long,
            stopReason: "toolUse",
            content: [
              {
                type: "toolCall",
                id: long,
                name: long,
                arguments: {
                  [long]: 1,
                  ...Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]))
                }
              }
            ]
          },
          { role: "toolResult", toolCallId: long, toolName: long, content: long },
          { role: long, content: long }
        ])
      )
      const { url } = yield* serve(yield* optionsOf(folder, { redaction: "off" }))
      const { body } = yield* ask(`${url}api/sessions/${keyOf(file)}/entries?at=0-4`)
      assert.isBelow(body.length, 200_000)
      const tree = yield* ask(`${url}api/sessions/${keyOf(file)}/tree?filter=all&from=0&count=9`)
      assert.isBelow(tree.body.length, 20_000)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("hostile requests and sessions", () => {
  it.live("an entry that is its own ancestor has a branch with an end", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const user = (id: string, parentId: string | null) => ({
        type: "message",
        id,
        parentId,
        timestamp: TIME,
        message: { role: "user", content: id }
      })
      const file = writeSession(Path.join(folder, "one.jsonl"), [
        { type: "session", version: 3, id: "s", timestamp: TIME, cwd: "/" },
        user("a", "b"),
        user("b", "a"),
        user("self", "self"),
        user("c", null)
      ])
      const { url } = yield* serve(yield* optionsOf(folder))
      const at = `${url}api/sessions/${keyOf(file)}`
      for (const entry of [0, 1, 2, 3]) {
        assert.strictEqual((yield* ask(`${at}/end?entry=${entry}&leaf=3`)).status, 200)
        assert.strictEqual((yield* ask(`${at}/branch?leaf=${entry}&filter=all`)).status, 200)
      }
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("malformed URLs and other methods are refused", () =>
    Effect.gen(function* () {
      const { origin, url } = yield* serve(yield* optionsOf(branches))
      for (const path of [
        "%zz",
        "api/%zz",
        "api/sessions/%ff",
        "/api/home",
        "%2e%2e/api/home",
        "api/search?text=%ff",
        `api/sessions/${key}/find?id=%zz`,
        "?%",
        "api/search?text="
      ]) {
        const { body, status } = yield* ask(url + path)
        assert.isTrue(status < 500, `${path}: ${status} ${body}`)
      }
      for (const method of ["OPTIONS", "PUT", "DELETE", "TRACE"]) {
        for (const at of [url, `${url}api/home`, `${origin}/x/api/home`])
          assert.strictEqual((yield* ask(at, { method })).status, 403, `${method} ${at}`)
      }
      assert.strictEqual((yield* ask(`${origin}/x/api/home`, { method: "HEAD" })).status, 403)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("a secret in a timestamp does not appear in hits", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeSession(
        Path.join(folder, "one.jsonl"),
        talk([{ role: "user", content: "look here" }]).map((line) => ({ ...line, timestamp: token }))
      )
      const { url } = yield* serve(yield* optionsOf(folder))
      const { body } = yield* ask(`${url}api/search?text=look`)
      assert.include(body, "look")
      assert.notInclude(body, token)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.live("error messages have no secret of a path", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const dataset = Path.join(folder, token, "data")
      Fs.mkdirSync(dataset, { recursive: true })
      Fs.writeFileSync(Path.join(dataset, "report.json"), '{"kind":"pi-sessions/extract-report/1"}')
      const marksFile = Path.join(folder, token, "marks.json")
      Fs.writeFileSync(marksFile, "none")
      const { url } = yield* serve(yield* optionsOf(branches, { dataset, marksFile }))
      for (const path of ["api/dataset", "api/dataset/lines?file=a&from=0&count=1", "api/marks", "api/home"]) {
        const { body } = yield* ask(url + path)
        assert.notInclude(body, token, path)
      }
      Fs.rmSync(marksFile)
      Fs.mkdirSync(marksFile)
      const post = {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"session":"s","mark":"accept"}'
      }
      const { body, status } = yield* ask(`${url}api/marks`, post)
      assert.strictEqual(status, 422)
      assert.notInclude(body, token)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("the URL without its last slash", () => {
  it.live("redirects to the page", () =>
    Effect.gen(function* () {
      const { origin, token, url } = yield* serve(yield* optionsOf(branches))
      const { headers, status } = yield* ask(`${origin}/${token}`)
      assert.strictEqual(status, 308)
      assert.strictEqual(new URL(headers.location ?? "", origin).href, url)
      assert.strictEqual((yield* ask(`${origin}/${token}x`)).status, 403)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("two servers", () => {
  it.live("with the same file of marks lose none", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const marksFile = Path.join(folder, "marks.json")
      const servers = [
        yield* serve(yield* optionsOf(branches, { marksFile })),
        yield* serve(yield* optionsOf(branches, { marksFile }))
      ]
      const ids = Array.from({ length: 60 }, (_, at) => `s${at}`)
      const answers = yield* Effect.forEach(
        ids,
        (session, at) =>
          ask(`${servers[at % 2]?.url}api/marks`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ session, mark: "accept" })
          }),
        { concurrency: 60 }
      )
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.deepStrictEqual(Object.keys(yield* json<object>(`${servers[0]?.url}api/marks`)).sort(), ids.sort())
      assert.notInclude(Fs.readdirSync(folder).join(), ".holder")
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
