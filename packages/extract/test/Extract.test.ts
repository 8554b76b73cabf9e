/** The service `Extract`: selection, files, errors and reports. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Result, Runtime, Schema } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type JsonObject } from "@pi-sessions/core/Json"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { ExtractReport } from "../src/ExtractReport.ts"
import { MessagesFormat } from "@pi-sessions/formats/MessagesFormat"
import { ShareGptFormat } from "@pi-sessions/formats/ShareGptFormat"
import { assistant, call, file, header, image, linked, result, text, user } from "@pi-sessions/samples/test/sessions"

/** Names the session, since an answer in the same context would be a target only once. */
const conversation = (opening: string, id: string) =>
  linked([
    user(opening),
    assistant([text(`I look, says ${id}.`), call("", "bash", { command: "gt hook" })]),
    result("", "nothing\n"),
    user([text("a picture"), image]),
    assistant([text("Done.")])
  ])

const session = (id: string, cwd: string, opening = "hello", more: JsonObject = {}) =>
  file(header({ id, cwd, ...more }), ...conversation(opening, id))

/** A town and a project, each session in the directory that Pi would choose. */
const FILES: { readonly [path: string]: string } = {
  "--home-u-gt-deacon--/a.jsonl": session("deacon-1", "/home/u/gt/deacon", "[GAS TOWN] deacon <- daemon"),
  "--home-u-gt-deacon--/b.jsonl": session("deacon-2", "/home/u/gt/deacon"),
  "--home-u-gt-deacon-dogs-boot--/a.jsonl": session("boot-1", "/home/u/gt/deacon/dogs/boot"),
  "--home-u-gt-gastown-witness--/a.jsonl": session("witness-1", "/home/u/gt/gastown/witness"),
  "--home-u-gt-gastown-polecats-nux-gastown--/a.jsonl": session("nux-1", "/home/u/gt/gastown/polecats/nux/gastown"),
  // The role is in the beacon alone, not in the path.
  "--home-u-gt--/a.jsonl": session(
    "beacon-1",
    "/home/u/gt",
    "[GAS TOWN] polecat chrome (rig: beads) <- witness \u2022 2026-02-23T22:52 \u2022 assigned"
  ),
  "--home-u-src-app--/a.jsonl": session("plain-1", "/home/u/src/app"),
  "--home-u-src-app--/hydrated.jsonl": session("plain-2", "/home/u/src/app", "hello", {
    hydratedFrom: { threadId: "th_1", mode: "semantic" }
  }),
  "--home-u-src-app--/silent.jsonl": file(header({ id: "plain-3", cwd: "/home/u/src/app" }), ...linked([user("hi")])),
  "--home-u-src-app--/notes.jsonl": '{"just":"json lines"}\n',
  "--home-u-src-app--/empty.jsonl": ""
}

/** A folder with the sessions above in `sessions`, and a run over them. */
const workbench = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const sessions = Path.join(root, "sessions")
  for (const [name, content] of Object.entries(FILES)) {
    Fs.mkdirSync(Path.dirname(Path.join(sessions, name)), { recursive: true })
    Fs.writeFileSync(Path.join(sessions, name), content)
  }
  const out = Path.join(root, "out")
  const run = (options: Partial<ExtractOptions> = {}) =>
    Effect.flatMap(Extract, (extract) =>
      extract.run({ rigs: [], roles: [], format: "messages", out, redaction: "off", ...options })
    ).pipe(
      Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
      Effect.provide(NodeServices.layer)
    )
  return { root, sessions, out, run }
})

const lines = (path: string): ReadonlyArray<string> => Fs.readFileSync(path, "utf8").split("\n").slice(0, -1)

const ids = (report: ExtractReport): ReadonlyArray<string> =>
  lines(report.outputs.train).map((line): string => JSON.parse(line).metadata.session_id)

describe("Extract.run", () => {
  it.effect("extracts the sessions of a rig, and writes samples and report", () =>
    Effect.gen(function* () {
      const { out, run, sessions } = yield* workbench
      const report = yield* run({ rigs: ["deacon"] })
      assert.deepStrictEqual(ids(report), ["deacon-1", "deacon-2"])
      assert.deepStrictEqual(Fs.readdirSync(out).sort(), [
        "README.md",
        "manifest.json",
        "report.json",
        "splits.json",
        "train.jsonl"
      ])
      assert.deepStrictEqual(report.outputs, {
        train: Path.join(out, "train.jsonl"),
        files: [
          {
            path: Path.join(out, "train.jsonl"),
            samples: 2,
            split: "train",
            file: "train",
            sha256: createHash("sha256")
              .update(Fs.readFileSync(Path.join(out, "train.jsonl")))
              .digest("hex")
          }
        ],
        report: Path.join(out, "report.json")
      })
      for (const line of lines(report.outputs.train)) {
        assert.isTrue(Result.isSuccess(MessagesFormat.validate(line)))
        assert.notInclude(line, "aGVsbG8")
      }
      const written: unknown = JSON.parse(Fs.readFileSync(report.outputs.report, "utf8"))
      assert.isTrue(Schema.is(ExtractReport)(written))
      assert.deepStrictEqual(written, report)
      assert.deepStrictEqual(report.sessions, {
        found: 9,
        kept: 2,
        dropped: { not_selected: 7 }
      })
      assert.deepStrictEqual(report.files, { not_a_session: 2, unreadable: 0 })
      assert.deepStrictEqual(report.total, {
        samples: 2,
        exact: 0,
        tools: { used: 2 },
        targets: 4,
        turns: 10,
        tool_calls: 2,
        tokens: { input: 40, output: 20, cache_read: 8, cache_write: 4, total: 72 },
        cost: report.total.cost,
        redacted: {},
        dropped: { image: 2 },
        diagnostics: 0
      })
      assert.closeTo(report.total.cost, 1.2, 1e-9)
      assert.deepStrictEqual(
        report.rows.map((row) => Path.relative(sessions, row.path)),
        Object.keys(FILES).sort()
      )
      const row = report.rows.find((row) => row.session_id === "deacon-1")
      assert.deepStrictEqual(
        [row?.outcome, row?.role, row?.role_source, row?.address, row?.volume?.samples],
        ["kept", "deacon", "cwd", "deacon", 1]
      )
    })
  )

  it.effect("selects by rig, address, role, and all of them together", () =>
    Effect.gen(function* () {
      const { run } = yield* workbench
      const taken = (options: Partial<ExtractOptions>) => Effect.map(run(options), (report) => [...ids(report)].sort())
      assert.deepStrictEqual(yield* taken({ rigs: ["gastown"] }), ["nux-1", "witness-1"])
      assert.deepStrictEqual(yield* taken({ rigs: ["gastown/witness", "beads"] }), ["beacon-1", "witness-1"])
      assert.deepStrictEqual(yield* taken({ roles: ["polecat"] }), ["beacon-1", "nux-1"])
      assert.deepStrictEqual(yield* taken({ rigs: ["gastown"], roles: ["polecat", "deacon"] }), ["nux-1"])
      assert.deepStrictEqual(yield* taken({ rigs: ["deacon"], includeDogs: true }), ["boot-1", "deacon-1", "deacon-2"])
      assert.deepStrictEqual(yield* taken({ roles: ["unknown"] }), ["plain-1"])
      assert.strictEqual((yield* taken({})).length, 7)
    })
  )

  it.effect("excludes hydrated sessions by default, and reports why sessions gave nothing", () =>
    Effect.gen(function* () {
      const { run } = yield* workbench
      const report = yield* run({ roles: ["unknown"] })
      assert.deepStrictEqual(report.sessions, {
        found: 9,
        kept: 1,
        dropped: { hydrated: 1, no_assistant_turn: 1, not_selected: 6 }
      })
      const all = yield* run({ roles: ["unknown"], includeHydrated: true })
      assert.deepStrictEqual(ids(all), ["plain-1", "plain-2"])
    })
  )

  it.effect("replaces an earlier dataset by one in another format", () =>
    Effect.gen(function* () {
      const { out, run } = yield* workbench
      yield* run()
      const first = Fs.readFileSync(Path.join(out, "train.jsonl"), "utf8")
      const report = yield* run({ format: "sharegpt" })
      assert.strictEqual(report.format, "sharegpt")
      assert.notStrictEqual(Fs.readFileSync(Path.join(out, "train.jsonl"), "utf8"), first)
      for (const line of lines(report.outputs.train)) {
        assert.isTrue(Result.isSuccess(ShareGptFormat.validate(line)))
      }
      assert.deepStrictEqual(report.total.dropped, {
        image: 7,
        text_beside_tool_call: 7,
        user_text_in_observation: 7
      })
    })
  )

  it.effect("gives the same bytes each time", () =>
    Effect.gen(function* () {
      const { out, run } = yield* workbench
      const bytes = () =>
        ["train.jsonl", "report.json", "manifest.json", "README.md"].map((name) =>
          Fs.readFileSync(Path.join(out, name), "utf8")
        )
      yield* run()
      const first = bytes()
      yield* run()
      assert.deepStrictEqual(bytes(), first)
    })
  )

  it.effect("writes a manifest, and keeps a card that the user wrote", () =>
    Effect.gen(function* () {
      const { out, run, sessions } = yield* workbench
      const read = (name: string) => Fs.readFileSync(Path.join(out, name), "utf8")
      const { rows } = yield* run({ rigs: ["deacon"] })
      const manifest = JSON.parse(read("manifest.json"))
      const kept = rows.filter(({ outcome }) => outcome === "kept")
      assert.deepStrictEqual(
        manifest.inputs.map((input: { readonly sha256: string }) => input.sha256),
        kept.map(({ path }) => createHash("sha256").update(Fs.readFileSync(path)).digest("hex"))
      )
      assert.include(read("README.md"), "path: train.jsonl")
      yield* run({ rigs: ["deacon"], minTurns: 1 })
      assert.notStrictEqual(JSON.parse(read("manifest.json")).settings_sha256, manifest.settings_sha256)
      Fs.writeFileSync(Path.join(out, "README.md"), "mine")
      yield* run({ rigs: ["deacon"] })
      assert.strictEqual(read("README.md"), "mine")
      assert.include(read("report.json"), sessions)
    })
  )

  it.effect("lists the rigs and roles found when nothing matches, and writes nothing", () =>
    Effect.gen(function* () {
      const { out, run } = yield* workbench
      const error = yield* Effect.flip(run({ rigs: ["nowhere"], roles: ["mayor"] }))
      assert.strictEqual(error._tag, "NothingMatched")
      if (error._tag !== "NothingMatched") return
      assert.strictEqual(error.sessions, 9)
      assert.deepStrictEqual(error.foundRigs, { beads: 1, gastown: 2 })
      assert.deepStrictEqual(error.foundRoles, { boot: 1, deacon: 2, polecat: 2, unknown: 3, witness: 1 })
      assert.strictEqual(
        error.message,
        "none of 9 sessions matches --rig nowhere --role mayor; rigs found: gastown (2), beads (1); " +
          "roles found: unknown (3), deacon (2), polecat (2), boot (1), witness (1)"
      )
      assert.strictEqual(error[Runtime.errorExitCode], 2)
      assert.isFalse(Fs.existsSync(out))
    })
  )

  it.effect("says that the time or marks exclude sessions which the selectors match", () =>
    Effect.gen(function* () {
      const { run } = yield* workbench
      const since = "2099-01-01T00:00:00.000Z"
      const error = yield* Effect.flip(run({ rigs: [], roles: [], since }))
      assert.include(error.message, "none of 9 sessions is selected (excluded by --since, --until or --marks: 9)")
    })
  )

  it.effect("finds nothing in an empty directory", () =>
    Effect.gen(function* () {
      const { run, sessions } = yield* workbench
      Fs.rmSync(sessions, { recursive: true })
      Fs.mkdirSync(sessions)
      const error = yield* Effect.flip(run())
      assert.strictEqual(error._tag, "NothingMatched")
      assert.strictEqual(error.message, "no sessions found; name files or directories with --sessions")
    })
  )

  it.effect("refuses a directory with other files", () =>
    Effect.gen(function* () {
      const { out, run } = yield* workbench
      Fs.mkdirSync(out)
      const state = () => Fs.readdirSync(out).map((name) => [name, Fs.readFileSync(Path.join(out, name), "utf8")])
      for (const [name, content] of [
        ["train.jsonl", "mine\n"],
        ["report.json", '{"kind":"something else"}']
      ] as const) {
        Fs.writeFileSync(Path.join(out, name), content)
        const before = state()
        const error = yield* Effect.flip(run())
        assert.strictEqual(error._tag, "OutputNotOurs")
        assert.include(error.message, name)
        assert.deepStrictEqual(state(), before)
      }
    })
  )

  it.effect("uses an empty directory, one with hidden files only, and a nested one that is not there", () =>
    Effect.gen(function* () {
      const { out, root, run } = yield* workbench
      Fs.mkdirSync(out)
      Fs.writeFileSync(Path.join(out, ".gitkeep"), "")
      yield* run()
      assert.deepStrictEqual(Fs.readdirSync(out).sort(), [
        ".gitkeep",
        "README.md",
        "manifest.json",
        "report.json",
        "splits.json",
        "train.jsonl"
      ])
      const nested = Path.join(root, "a", "b")
      yield* run({ out: nested })
      assert.deepStrictEqual(Fs.readdirSync(nested).sort(), [
        "README.md",
        "manifest.json",
        "report.json",
        "splits.json",
        "train.jsonl"
      ])
    })
  )

  it.effect("fails with a typed error when it cannot write, and leaves the earlier dataset as it was", () =>
    Effect.gen(function* () {
      const { out, root, run, sessions } = yield* workbench
      Fs.writeFileSync(Path.join(root, "file"), "")
      assert.strictEqual((yield* Effect.flip(run({ out: Path.join(root, "file") })))._tag, "SessionFileError")

      yield* run()
      const before = Fs.readFileSync(Path.join(out, "train.jsonl"), "utf8")
      const broken = Effect.map(FileSystem.FileSystem, (fs) => ({
        ...fs,
        rename: (from: string) => fs.remove(`${from}.nowhere`)
      }))
      const error = yield* Effect.flatMap(Extract, (extract) =>
        extract.run({ rigs: ["deacon"], roles: [], format: "messages", out })
      ).pipe(
        Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
        Effect.provide(Layer.provideMerge(Layer.effect(FileSystem.FileSystem, broken), NodeServices.layer)),
        Effect.flip
      )
      assert.strictEqual(error._tag, "SessionFileError")
      assert.strictEqual(Fs.readFileSync(Path.join(out, "train.jsonl"), "utf8"), before)
      assert.deepStrictEqual(Fs.readdirSync(out).sort(), [
        "README.md",
        "manifest.json",
        "report.json",
        "splits.json",
        "train.jsonl"
      ])
    })
  )

  it.effect("counts damage, and continues after unreadable files", () =>
    Effect.gen(function* () {
      const { run, sessions } = yield* workbench
      const damaged = Path.join(sessions, "damaged.jsonl")
      Fs.writeFileSync(damaged, `${session("damaged-1", "/home/u/src/app")}{"type":"mess`)
      Fs.symlinkSync("nowhere", Path.join(sessions, "gone.jsonl"))
      const report = yield* run()
      assert.strictEqual(report.rows.find((row) => row.path === damaged)?.volume?.diagnostics, 1)
      assert.strictEqual(report.total.diagnostics, 1)
      assert.deepStrictEqual(
        report.skipped.map((skip) => Path.basename(skip.path)),
        ["gone.jsonl"]
      )
    })
  )

  it.effect("reports files that cannot be read as rows", () =>
    Effect.gen(function* () {
      const { run, sessions, out } = yield* workbench
      const locked = Path.join(sessions, "--home-u-src-app--/a.jsonl")
      const broken = Effect.map(FileSystem.FileSystem, (fs) => ({
        ...fs,
        stream: (path: string, options?: Parameters<typeof fs.stream>[1]) =>
          fs.stream(path === locked ? `${path}.gone` : path, options),
        readFile: (path: string) => fs.readFile(path.includes("witness") ? `${path}.gone` : path)
      }))
      const report = yield* Effect.flatMap(Extract, (extract) =>
        extract.run({ rigs: [], roles: [], format: "messages", out })
      ).pipe(
        Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
        Effect.provide(Layer.provideMerge(Layer.effect(FileSystem.FileSystem, broken), NodeServices.layer))
      )
      assert.deepStrictEqual(
        report.rows.filter((row) => row.outcome === "unreadable").map((row) => row.detail),
        ["no such file or directory", "no such file or directory"]
      )
      assert.deepStrictEqual(report.files, { not_a_session: 2, unreadable: 2 })
      assert.strictEqual(report.sessions.kept, 5)
      yield* run()
    })
  )

  it.effect("reports progress", () =>
    Effect.gen(function* () {
      const { run } = yield* workbench
      const told: Array<readonly [number, number]> = []
      yield* run({ rigs: ["deacon"], onProgress: ({ done, total }) => Effect.sync(() => told.push([done, total])) })
      assert.deepStrictEqual(
        told,
        Array.from({ length: 11 }, (_, at) => [at + 1, 11] as const)
      )
    })
  )

  it.effect("writes files for each role, and begins another file when one is full", () =>
    Effect.gen(function* () {
      const { out, run } = yield* workbench
      const report = yield* run({ perRole: true, maxFileBytes: 1000 })
      const names = report.outputs.files.map(({ path }) => Path.basename(path))
      assert.includeMembers(names, [
        "deacon-train-00001.jsonl",
        "deacon-train-00002.jsonl",
        "witness-train-00001.jsonl"
      ])
      for (const { path, role } of report.outputs.files) {
        assert.isTrue(Path.basename(path).startsWith(`${role}-`))
        for (const line of lines(path)) assert.strictEqual(JSON.parse(line).metadata.role, role)
      }
      const card = Fs.readFileSync(Path.join(out, "README.md"), "utf8")
      assert.include(
        card,
        "- config_name: deacon\n  data_files:\n  - split: train\n    path:\n    - deacon-train-00001.jsonl\n    - deacon-train-00002.jsonl\n"
      )
      assert.include(card, "- config_name: default\n  default: true\n")
      // Another layout leaves nothing of this one.
      yield* run()
      assert.deepStrictEqual(
        Fs.readdirSync(out).filter((name) => name.endsWith(".jsonl")),
        ["train.jsonl"]
      )
    })
  )

  it.effect("uses the town's directory that the options name", () =>
    Effect.gen(function* () {
      const { run, sessions } = yield* workbench
      Fs.writeFileSync(Path.join(sessions, "own.jsonl"), session("own-1", "/srv/town/deacon"))
      const report = yield* run({ rigs: ["deacon"], town: "/srv/town" })
      assert.include(ids(report), "own-1")
      assert.notInclude(ids(report), "deacon-2")
    })
  )
})
