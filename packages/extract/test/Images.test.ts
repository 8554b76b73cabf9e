/** Images as files beside the samples: each mark in a text has a file with its image. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as DatasetValidation from "../src/publish/DatasetValidation.ts"
import { DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { Extract } from "../src/Extract.ts"
import { type SampleOptions } from "../src/ExtractOptions.ts"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { cutSession } from "../src/parts/cutSession.ts"
import { toLines } from "../src/parts/sessionLines.ts"
import { assistant, call, chain, image, message, result, text, user } from "@pi-sessions/samples/test/sessions"

const HEADS: { readonly [kind: string]: ReadonlyArray<number> } = {
  png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  jpg: [0xff, 0xd8, 0xff, 0xe0],
  gif: [0x47, 0x49, 0x46, 0x38, 0x39, 0x61],
  webp: [0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50]
}

/** Something that begins as an image does. */
const picture = (kind: string, number: number): JsonObject => ({
  type: "image",
  mimeType: "image/png",
  data: Buffer.from([...(HEADS[kind] ?? []), ...Array<number>(40).fill(number)]).toString("base64")
})

const nameOf = ({ data }: JsonObject, kind: string): string => {
  const bytes = Buffer.from(typeof data === "string" ? data : "", "base64")
  return `images/${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}.${kind}`
}

const made = (content: string | Uint8Array, options: Partial<SampleOptions> = {}) => {
  const given = { system: new Map(), tools: [] }
  const all: SampleOptions = { format: "messages", images: true, redaction: "off", branches: "all", given, ...options }
  const selected = {
    ref: { path: "/s.jsonl", sizeBytes: 0, modifiedMs: 0 },
    role: { role: "unknown" as const, roleSource: "none" as const },
    sessionId: "s",
    timestamp: ""
  }
  const session = typeof content === "string" ? Session.readText(content) : Session.read(content)
  const cut = cutSession(session, selected, all, new Map())
  const redactor = new Redactor({ placeholders: new Placeholders("k") })
  const lines = toLines(
    cut,
    {
      distinct: new DistinctTargets(),
      redactor: all.redaction === "off" ? undefined : redactor,
      fingerprints: new Set()
    },
    all
  )
  return {
    ...lines,
    objects: lines.lines.map(({ line }): JsonObject => JSON.parse(Buffer.from(line).toString()))
  }
}

const listAt = (line: JsonObject, key: string): ReadonlyArray<Json> => {
  const list = line[key]
  return isArray(list) ? list : []
}

const messagesIn = (line: JsonObject): ReadonlyArray<JsonObject> =>
  ["messages", "prompt", "completion"].flatMap((key) => listAt(line, key)).filter(isObject)

const contextOf = (line: JsonObject | undefined): Json | undefined =>
  line === undefined
    ? undefined
    : (line["context"] ?? (isObject(line["metadata"]) ? line["metadata"]["context"] : undefined))

const [a, b, c, d] = [picture("png", 1), picture("jpg", 2), picture("gif", 3), picture("webp", 4)]
const [nameA, nameB, nameC, nameD] = [nameOf(a, "png"), nameOf(b, "jpg"), nameOf(c, "gif"), nameOf(d, "webp")]

const session = chain(
  user([text("before"), a, text("between"), b]),
  assistant([call("c1", "read"), call("c2", "read")]),
  message({ role: "toolResult", toolCallId: "c2", toolName: "read", content: [c, text("c")], isError: false }),
  message({ role: "toolResult", toolCallId: "c1", toolName: "read", content: [text("a"), a], isError: false }),
  user([d]),
  assistant([text("seen")]),
  user([picture("png", 9)])
)

describe("images", () => {
  it.each(["messages", "parquet"] as const)(
    "stand in the lines of %s by name, in the order of their marks",
    (format) => {
      const { files, objects } = made(session, { format })
      assert.deepStrictEqual(
        objects.map((line) => line["images"]),
        [[nameA, nameB, nameC, nameA, nameD]]
      )
      const said = messagesIn(objects[0] ?? {}).map(({ content, role }) => [role, content])
      assert.deepStrictEqual(said, [
        ["user", "before\n[image]\nbetween\n[image]"],
        ["assistant", ""],
        ["tool", "[image]\nc"],
        ["tool", "a\n[image]"],
        ["user", "[image]"],
        ["assistant", "seen"]
      ])
      assert.strictEqual(contextOf(objects[0]), "exact")
      // Each once, without those behind the last answer.
      assert.deepStrictEqual(
        files?.map(({ name }) => name),
        [nameA, nameB, nameC, nameD].sort()
      )
      for (const { bytes, name } of files ?? []) {
        assert.strictEqual(name.slice(7, 39), createHash("sha256").update(bytes).digest("hex").slice(0, 32))
      }
    }
  )

  it("change nothing without the option", () => {
    const { files, objects } = made(session, { images: false })
    assert.isUndefined(files)
    assert.isFalse("images" in (objects[0] ?? {}))
    assert.strictEqual(contextOf(objects[0]), "reduced")
    const { objects: with_ } = made(session)
    assert.deepStrictEqual(messagesIn(objects[0] ?? {}), messagesIn(with_[0] ?? {}))
  })

  it("have one mark each; texts and other blocks have none", () => {
    const { files, objects, row } = made(
      chain(
        user("is `[image]` a mark?"),
        assistant([text("[image] is one")]),
        user([image, a, { type: "image", mimeType: "image/svg+xml", data: Buffer.from("<svg/>").toString("base64") }]),
        assistant([call("c1", "read")]),
        result("c1", "[image][image]", "read"),
        assistant([text("done")])
      )
    )
    assert.deepStrictEqual(
      messagesIn(objects[0] ?? {}).map(({ content }) => content),
      ["is `[ image ]` a mark?", "[image] is one", "[ image ]\n[image]\n[ image ]", "", "[ image ][ image ]", "done"]
    )
    assert.deepStrictEqual(objects[0]?.["images"], [nameA])
    assert.strictEqual(contextOf(objects[0]), "reduced")
    assert.deepStrictEqual(row.volume?.dropped, { escaped_mark: 2, image: 2 })
    assert.strictEqual(files?.length, 1)
  })

  it("are an empty list in lines without images", () => {
    const { files, objects } = made(chain(user("a"), assistant([text("b")])))
    assert.deepStrictEqual(objects[0]?.["images"], [])
    assert.deepStrictEqual(files, [])
    assert.strictEqual(contextOf(objects[0]), "exact")
  })

  it("make targets with equal text distinct", () => {
    const content = chain(
      { ...user([a]), id: "a", parentId: null },
      { ...assistant([text("seen")]), id: "b", parentId: "a" },
      { ...user([b]), id: "c", parentId: null },
      { ...assistant([text("seen")]), id: "d", parentId: "c" }
    )
    assert.strictEqual(made(content).objects.length, 2)
    assert.strictEqual(made(content, { images: false }).objects.length, 1)
  })

  it("are dropped with results that are elided", () => {
    const content = chain(
      user("look"),
      assistant([call("c1", "read")]),
      message({
        role: "toolResult",
        toolCallId: "c1",
        toolName: "read",
        content: [a, text("long ".repeat(3000))],
        isError: false
      }),
      assistant([call("c2", "read")]),
      message({ role: "toolResult", toolCallId: "c2", toolName: "read", content: [b], isError: false }),
      assistant([text("seen")])
    )
    const { files, objects } = made(content, { maxTokens: 1500, overflow: "elide-results" })
    assert.deepStrictEqual(objects[0]?.["images"], [nameB])
    assert.deepStrictEqual(
      files?.map(({ name }) => name),
      [nameB]
    )
    for (const maxTokens of [200, 400, 800, 5000]) {
      for (const overflow of ["window", "elide-results"] as const) {
        const windows = made(content, { maxTokens, overflow })
        const named = windows.objects.flatMap((line) => listAt(line, "images"))
        assert.deepStrictEqual(
          windows.files?.map(({ name }) => name),
          [...new Set(named.map(String))].sort()
        )
        assert.isUndefined(windows.row.samples_dropped?.["invalid_sample"])
      }
    }
  })

  it.live("match their marks in random sessions, redacted too", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      let shown = 0
      for (let seed = 1; seed <= 15; seed++) {
        const dir = Path.join(root, String(seed))
        const walk = yield* Effect.promise(() => SessionWalk.walk("1.5", { seed, steps: 60, dir, cwd: "/home/ann/x" }))
        const random = SeededRandom.make(seed)
        for (const path of walk.files) {
          // Its images are no images, and its texts say nothing of marks.
          const content = Fs.readFileSync(path, "utf8").replaceAll(/"data":"[^"]+"/gu, () =>
            random.chance(0.8)
              ? `"data":"${String(picture(random.pick(["png", "jpg", "gif", "webp"]), random.int(20))["data"])}"`
              : `"data":"AAAA"`
          )
          for (const format of ["messages", "parquet"] as const) {
            for (const redaction of ["off", { key: "k" }] as const) {
              const { files, objects, row } = made(content, { format, redaction })
              assert.isUndefined(row.samples_dropped?.["invalid_sample"], row.detail)
              const named = new Set<Json>()
              for (const line of objects) {
                const names = listAt(line, "images")
                const marks = messagesIn(line)
                  .filter(({ role }) => role === "user" || role === "tool")
                  .map(({ content }) => String(content).split("[image]").length - 1)
                assert.strictEqual(
                  names.length,
                  marks.reduce((sum, count) => sum + count, 0)
                )
                for (const name of names) named.add(name)
                shown += names.length
              }
              assert.deepStrictEqual(new Set<Json>(files?.map(({ name }) => name)), named)
            }
          }
        }
      }
      assert.isAbove(shown, 50)
    })
  )

  it.live.each(["messages", "parquet"] as const)("must be beside the data: %s", (format) =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const out = Path.join(root, "out")
      Fs.mkdirSync(Path.join(root, "in"))
      Fs.writeFileSync(Path.join(root, "in", "s.jsonl"), session)
      const sources = SessionSource.layerPaths([Path.join(root, "in")])
      yield* Effect.flatMap(Extract, (extract) =>
        extract.run({ rigs: [], roles: [], redaction: "off", images: true, format, out })
      ).pipe(Effect.provide(Extract.layer.pipe(Layer.provide(sources))))
      Fs.mkdirSync(Path.join(out, "images"), { recursive: true })
      for (const { bytes, name } of made(session).files ?? []) Fs.writeFileSync(Path.join(out, name), bytes)
      const problem = Effect.map(DatasetValidation.validateDirectory(out), ({ dataset }) => dataset)
      assert.isNull(yield* problem)
      Fs.writeFileSync(Path.join(out, nameB), "another")
      const one = `${nameB}: the image that lines name is not there, or it is another one`
      assert.strictEqual(yield* problem, one)
      Fs.rmSync(Path.join(out, nameB))
      assert.strictEqual(yield* problem, one)
      Fs.rmSync(Path.join(out, "images"), { recursive: true })
      assert.match((yield* problem) ?? "", /, and 3 more$/u)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it("are checked by the validators", () => {
    for (const format of ["messages", "parquet"] as const) {
      const [line = {}] = made(session, { format }).objects
      const issueOf = (images: ReadonlyArray<Json>): string =>
        Result.match(FORMATS[format].validate(JSON.stringify({ ...line, images })), {
          onFailure: ({ message }) => message,
          onSuccess: () => "accepted"
        })
      const names = listAt(line, "images")
      assert.strictEqual(issueOf(names), "accepted")
      const few = `not a sample of ${format}: images: their number differs from the number of image marks`
      assert.strictEqual(issueOf(names.slice(1)), few)
      assert.strictEqual(issueOf([...names, nameA]), few)
      const odd = `not a sample of ${format}: images[0]: not the name of an image file`
      for (const name of ["/etc/passwd", "images/../x.png", `${nameA}/x`, nameA.replace("images/", "")]) {
        assert.strictEqual(issueOf([name, ...names.slice(1)]), odd)
      }
    }
  })
})
