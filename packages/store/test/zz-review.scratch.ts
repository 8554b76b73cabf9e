import * as NFS from "node:fs"
import * as OS from "node:os"
import * as P from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import { live } from "./support/storeLayer.ts"

const header = (id: string) => `{"type":"session","version":3,"id":"${id}","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/x"}`
export const lineOf = (i: number, parent: number | null = i === 1 ? null : i - 1, pad = "") =>
  `{"type":"message","id":"e${i}","parentId":${parent === null ? "null" : `"e${parent}"`},"timestamp":"2026-01-05T10:00:00.000Z","message":{"role":"user","content":"hello ${i}${pad}","timestamp":1}}`
export const parse = (text: string) => {
  const r = new SessionReader(); const ls = [...r.push(Buffer.from(text)), ...r.end()]
  return { header: r.header!, entries: ls.filter((l): l is SessionEntry => l instanceof SessionEntry).map((e) => e.standalone()) }
}
export const sessionOf = (id: string, n: number, pad = "") => parse([header(id), ...Array.from({ length: n }, (_, i) => lineOf(i + 1, undefined, pad))].join("\n") + "\n")
const tmp = () => NFS.mkdtempSync(P.join(OS.tmpdir(), "zz-review-"))
const make = (dir: string, id: string, n: number, opts: { segmentBytes?: number; checkpoint?: boolean; chunk?: number; pad?: string } = {}) =>
  Effect.scoped(Effect.gen(function* () {
    const store = yield* SessionStore
    const s = sessionOf(id, n, opts.pad)
    const w = yield* store.create(dir, s.header, opts.segmentBytes === undefined ? {} : { segmentBytes: opts.segmentBytes })
    const chunk = opts.chunk ?? 1000
    for (let i = 0; i < s.entries.length; i += chunk) yield* w.appendAll(s.entries.slice(i, i + chunk))
    if (opts.checkpoint !== false) yield* w.checkpoint()
    return s
  }))
const proofs: Record<string, Effect.Effect<void, any, any>> = {
  // 1 find on damaged index row
  findDamaged: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 100)
    const off = P.join(dir, "s.v2/index/offsets.jsonl")
    const b = NFS.readFileSync(off); const at = b.indexOf(',"entry_id":"e50",') + 14; b[at] = b[at]! ^ 1; NFS.writeFileSync(off, b)
    const store = yield* SessionStore
    yield* Effect.scoped(Effect.gen(function* () {
      const r = yield* store.reader({ directory: dir, sessionId: "s" })
      console.log("entryById e50 ->", yield* Effect.result(r.entryById("e50")).pipe(Effect.map((x: any) => x._tag + " " + (x.failure?.message ?? x.success?.id))))
      console.log("entry(50) ->", (yield* r.entry(50)).id)
    }))
  }),
  // 2 index truncated under an open reader
  hang: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 100)
    const off = P.join(dir, "s.v2/index/offsets.jsonl")
    const store = yield* SessionStore
    yield* Effect.scoped(Effect.gen(function* () {
      const r = yield* store.reader({ directory: dir, sessionId: "s" })
      NFS.truncateSync(off, 2000)
      console.log("find e99 after truncation ->", yield* Effect.result(r.entryById("e99")).pipe(Effect.map((x: any) => x._tag + " " + (x.failure?.message ?? x.success?.id))))
      NFS.truncateSync(off, 0)
      console.log("entry(50), 3 s allowed ->", yield* r.entry(50).pipe(Effect.map((e: any) => e.id), Effect.timeoutOption("3 seconds"), Effect.result))
    }))
  }),
  // 3 use after close
  afterClose: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 3, { checkpoint: false })
    const store = yield* SessionStore; const loc = { directory: dir, sessionId: "s" }
    const s = sessionOf("s", 10)
    const scope1 = yield* Scope.make()
    const w1 = yield* Scope.provide(store.writer(loc), scope1)
    yield* w1.append(s.entries[3]!)
    yield* Scope.close(scope1, Exit.void)
    yield* Effect.scoped(Effect.gen(function* () {
      const w2 = yield* store.writer(loc)
      console.log("w2 ack:", yield* w2.append(s.entries[4]!))
      const other = parse(header("s") + "\n" + lineOf(5, 4).replace('"e5"', '"late"') + "\n").entries[0]!
      console.log("w1 (scope closed, lock not held) ack:", yield* Effect.result(w1.append(other)))
    }))
    yield* Effect.scoped(Effect.gen(function* () {
      const w = yield* Effect.result(store.writer(loc)); console.log("reopen:", (w as any)._tag, (w as any).failure?.message ?? (w as any).success.repairs, "has e5:", (w as any).success?.has("e5"))
    }))
  }),
  // 4 false ack after a defect
  falseAck: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 3, { checkpoint: false })
    const store = yield* SessionStore; const loc = { directory: dir, sessionId: "s" }
    const s = sessionOf("s", 10)
    yield* Effect.scoped(Effect.gen(function* () {
      const w = yield* store.writer(loc)
      yield* w.append(s.entries[3]!)
      NFS.renameSync(P.join(dir, "s.v2"), P.join(dir, "gone"))
      const a = yield* Effect.forkChild(Effect.exit(w.append(s.entries[0]!)))
      const b = yield* Effect.forkChild(Effect.exit(w.append(s.entries[4]!)))
      const ea: any = yield* Fiber.join(a); const eb: any = yield* Fiber.join(b)
      console.log("A (retry):", ea._tag, String(ea.cause ?? "").slice(0, 80)); console.log("B (new entry e5):", eb._tag, eb.value, "has:", w.has("e5"))
    }))
  }),
  // 5 concurrency in a reader
  concurrent: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 400, { segmentBytes: 2000, chunk: 4 })
    console.log("segments", NFS.readdirSync(P.join(dir, "s.v2/segments")).length)
    const store = yield* SessionStore
    const fds = () => NFS.readdirSync("/proc/self/fd").length
    const before = fds()
    yield* Effect.scoped(Effect.gen(function* () {
      const r = yield* store.reader({ directory: dir, sessionId: "s" })
      const res: any = yield* Effect.all(Array.from({ length: 400 }, (_, i) => Effect.result(r.entry(i + 1))), { concurrency: 64 })
      const bad = res.filter((x: any, i: number) => x._tag === "Failure" || x.success.id !== `e${i + 1}`)
      console.log("wrong or failed:", bad.length, bad[0]?.failure?.message)
    }))
    console.log("handles leaked:", fds() - before)
  }),
  concurrentRebuild: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 400)
    const off = P.join(dir, "s.v2/index/offsets.jsonl")
    const b = NFS.readFileSync(off); b[5000] = b[5000]! ^ 1; NFS.writeFileSync(off, b)
    const store = yield* SessionStore
    yield* Effect.scoped(Effect.gen(function* () {
      const r = yield* store.reader({ directory: dir, sessionId: "s" })
      const res: any = yield* Effect.all(Array.from({ length: 40 }, (_, i) => Effect.result(r.entry(i + 1))), { concurrency: 8 })
      const bad = res.filter((x: any, i: number) => x._tag === "Failure" || x.success.id !== `e${i + 1}`)
      console.log("wrong or failed:", bad.length, bad[0]?.failure?.message, "entryCount", r.entryCount, r.trailing?.message)
    }))
  }),
  // 6 truncated history as success: index gone + flip in sealed segment
  silentlyShort: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 100)
    NFS.rmSync(P.join(dir, "s.v2/index/offsets.jsonl"))
    const seg = P.join(dir, "s.v2/segments/0000000000000001.seg")
    const b = NFS.readFileSync(seg); b[b.length >> 1] = b[b.length >> 1]! ^ 1; NFS.writeFileSync(seg, b)
    const store = yield* SessionStore
    yield* Effect.scoped(Effect.gen(function* () {
      const r = yield* store.reader({ directory: dir, sessionId: "s" })
      const session = yield* r.session
      console.log("entries read with success:", session.tree.getEntries().length, "of 100; last():", (yield* r.last(1))[0]!.id, "manifest head says 100")
    }))
  }),
  // 6b one damaged row + one damaged frame, index otherwise whole
  silentlyShort2: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 100)
    const off = P.join(dir, "s.v2/index/offsets.jsonl")
    const o = NFS.readFileSync(off); o[9000] = o[9000]! ^ 1; NFS.writeFileSync(off, o)
    const seg = P.join(dir, "s.v2/segments/0000000000000001.seg")
    const b = NFS.readFileSync(seg); b[b.length >> 1] = b[b.length >> 1]! ^ 1; NFS.writeFileSync(seg, b)
    const store = yield* SessionStore
    yield* Effect.scoped(Effect.gen(function* () {
      const r = yield* store.reader({ directory: dir, sessionId: "s" })
      console.log("count at open", r.entryCount)
      const bytes = yield* Effect.result(Stream.runFold(r.payloads, () => 0, (n, p) => n + p.length))
      console.log("payloads:", bytes, "entryCount now", r.entryCount)
    }))
  }),
  // 7 ledger flip
  ledgerFlip: Effect.gen(function* () {
    const dir = tmp(); const s = sessionOf("s", 5)
    const f = P.join(dir, "a.jsonl"); NFS.writeFileSync(f, [s.header, ...s.entries].map((l) => l.text + "\n").join(""))
    const mig = yield* StoreMigration; const store = yield* SessionStore; const loc = { directory: dir, sessionId: "s" }
    yield* mig.migrate(f)
    const led = P.join(dir, "s.v2/migrations/ledger.jsonl")
    console.log("events", (yield* mig.ledger(loc)).map((e) => e.phase).join(" "), "inactive", yield* store.inactive(loc))
    const b = NFS.readFileSync(led); b[60] = b[60]! ^ 1; NFS.writeFileSync(led, b)
    yield* Effect.scoped(Effect.flatMap(store.writer(loc), (w) => w.append(sessionOf("s", 6).entries[5]!)))
    console.log("after one flipped bit and one open: events", (yield* mig.ledger(loc)).map((e) => e.phase).join(" ") || "none", "inactive", yield* store.inactive(loc), "verify", (yield* store.verify(loc)).findings.map((x) => x.message))
  }),
  // 8 false recovery event, repeated
  falseRecovery: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 100)
    const off = P.join(dir, "s.v2/index/offsets.jsonl")
    const o = NFS.readFileSync(off); o[9000] = o[9000]! ^ 1; NFS.writeFileSync(off, o)
    const seg = P.join(dir, "s.v2/segments/0000000000000001.seg")
    const b = NFS.readFileSync(seg); b[b.length >> 1] = b[b.length >> 1]! ^ 1; NFS.writeFileSync(seg, b)
    const store = yield* SessionStore; const mig = yield* StoreMigration; const loc = { directory: dir, sessionId: "s" }
    for (let i = 0; i < 3; i++) {
      const w: any = yield* Effect.scoped(Effect.result(store.writer(loc)))
      console.log(w._tag, w.failure?.message, "| index bytes", NFS.statSync(off).size, "of", o.length, "| ledger", (yield* mig.ledger(loc)).map((e) => `${e.phase}/${e.outcome}`).join(" "))
    }
  }),
  // 9 acknowledged frames behind a damaged row are cut
  cutBehindDamagedRow: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "s", 300, { checkpoint: false })
    const off = P.join(dir, "s.v2/index/offsets.jsonl")
    const o = NFS.readFileSync(off); o[9000] = o[9000]! ^ 1; NFS.writeFileSync(off, o)
    const seg = P.join(dir, "s.v2/segments/0000000000000001.seg")
    const b = NFS.readFileSync(seg); b[b.length >> 1] = b[b.length >> 1]! ^ 1; NFS.writeFileSync(seg, b)
    const store = yield* SessionStore; const loc = { directory: dir, sessionId: "s" }
    const w: any = yield* Effect.scoped(Effect.result(Effect.map(store.writer(loc), (w) => [w.entryCount, w.repairs])))
    console.log("of 300 acknowledged, all with rows:", w.success ?? w.failure.message)
  }),
  // 10 path traversal by a crafted manifest
  traversal: Effect.gen(function* () {
    const dir = tmp(); const sub = P.join(dir, "sessions"); NFS.mkdirSync(sub); NFS.mkdirSync(P.join(dir, "victim"))
    const s = sessionOf("s", 5)
    const f = P.join(sub, "a.jsonl"); NFS.writeFileSync(f, [s.header, ...s.entries].map((l) => l.text + "\n").join(""))
    const mig = yield* StoreMigration; const loc = { directory: sub, sessionId: "s" }
    yield* mig.migrate(f)
    const Manifest = yield* Effect.promise(() => import("../src/Manifest.ts"))
    const mp = P.join(sub, "s.v2/manifest.json")
    const m: any = (Manifest.decode(NFS.readFileSync(mp)) as any).success
    NFS.writeFileSync(mp, Manifest.encode({ ...m, source: { ...m.source, path: "../victim/x.jsonl" } }))
    console.log((yield* mig.rollback(loc)).path, NFS.readdirSync(P.join(dir, "victim")))
  }),
  // 11 another session's container
  swapped: Effect.gen(function* () {
    const dir = tmp(); yield* make(dir, "a", 3); yield* make(dir, "b", 7)
    NFS.rmSync(P.join(dir, "b.v2"), { recursive: true }); NFS.cpSync(P.join(dir, "a.v2"), P.join(dir, "b.v2"), { recursive: true })
    const store = yield* SessionStore; const loc = { directory: dir, sessionId: "b" }
    const r: any = yield* Effect.scoped(Effect.result(Effect.map(store.reader(loc), (r) => [r.header.text.slice(0, 60), r.entryCount])))
    console.log("reader of b:", r.success ?? r.failure.message)
    console.log("verify:", (yield* store.verify(loc)).findings)
    const w: any = yield* Effect.scoped(Effect.result(Effect.map(store.writer(loc), (w) => w.manifest.session_id))); console.log("writer of b takes session", w.success ?? w.failure.message)
  }),
  // 12 retry cost
  retry: Effect.gen(function* () {
    const dir = tmp(); const s = yield* make(dir, "s", 2000, { checkpoint: false, pad: "x".repeat(1000) })
    const store = yield* SessionStore; const loc = { directory: dir, sessionId: "s" }
    yield* Effect.scoped(Effect.gen(function* () {
      const w = yield* store.writer(loc)
      const t = performance.now(); yield* w.appendAll(s.entries); console.log("retry of 2000 entries:", Math.round(performance.now() - t), "ms")
    }))
  }),
  // 13 source changed, same length
  changed: Effect.gen(function* () {
    const dir = tmp(); const s = sessionOf("s", 5)
    const f = P.join(dir, "a.jsonl"); const text = [s.header, ...s.entries].map((l) => l.text + "\n").join(""); NFS.writeFileSync(f, text)
    const mig = yield* StoreMigration
    yield* mig.migrate(f); NFS.writeFileSync(f, text.replace("hello 5", "HELLO 5"))
    const m = yield* mig.migrate(f); console.log(m.outcome, "grew by", m.sourceGrewBy)
  }),
  // 14 sqlite column
  sqliteText: Effect.gen(function* () {
    const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
    const dir = tmp(); const f = P.join(dir, "a.sqlite"); const db = new DatabaseSync(f)
    db.exec("CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line BLOB NOT NULL)"); db.prepare("INSERT INTO session_line VALUES (0, ?)").run(header("s") + "\n"); db.close()
    const mig = yield* StoreMigration
    const e: any = yield* Effect.exit(mig.migrate(f, { format: "sqlite_v1" })); console.log(e._tag, String(e.cause).slice(0, 160))
    // gap
    const g = P.join(dir, "g.sqlite"); const db2 = new DatabaseSync(g)
    db2.exec("CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT"); const ins = db2.prepare("INSERT INTO session_line VALUES (?, ?)")
    ins.run(0, Buffer.from(header("g") + "\n")); ins.run(1, Buffer.from(lineOf(1) + "\n")); ins.run(3, Buffer.from(lineOf(3, 1) + "\n")); db2.close()
    const x: any = yield* Effect.result(mig.migrate(g, { format: "sqlite_v1" })); console.log("entry_seq 2 missing:", x._tag, x.success?.outcome ?? x.failure?.message)
  }),
  // 15 double finding
  emptyId: Effect.gen(function* () {
    const dir = tmp(); const f = P.join(dir, "a.jsonl"); NFS.writeFileSync(f, header("s") + "\n" + lineOf(1).replace('"e1"', '""') + "\n")
    const mig = yield* StoreMigration
    const x: any = yield* Effect.result(mig.migrate(f)); console.log(x.failure?.findings)
  }),
  // 16 offshoot of another branch: memory
  branch: Effect.gen(function* () {
    const dir = tmp(); const n = 200000
    const store = yield* SessionStore; const loc = { directory: dir, sessionId: "s" }
    yield* Effect.scoped(Effect.gen(function* () {
      const w = yield* store.create(dir, parse(header("s") + "\n").header)
      for (let i = 0; i < n; i += 2000) yield* w.appendAll(parse(header("s") + "\n" + Array.from({ length: 2000 }, (_, k) => lineOf(i + k + 1)).join("\n") + "\n").entries)
      yield* w.append(parse(header("s") + "\n" + `{"type":"compaction","id":"c","parentId":"e${n}","timestamp":"2026-01-05T10:00:00.000Z","summary":"s","firstKeptEntryId":"e${n - 5}","tokensBefore":1}\n` + "").entries[0]!)
      yield* w.append(parse(header("s") + "\n" + `{"type":"thinking_level_change","id":"t","parentId":"c","timestamp":"2026-01-05T10:00:00.000Z","thinkingLevel":"low"}\n`).entries[0]!)
      yield* w.append(parse(header("s") + "\n" + `{"type":"model_change","id":"m","parentId":"t","timestamp":"2026-01-05T10:00:00.000Z","provider":"p","modelId":"x"}\n`).entries[0]!)
      yield* w.append(parse(header("s") + "\n" + lineOf(n + 1).replace(`"parentId":"e${n}"`, '"parentId":"m"').replace(`"id":"e${n + 1}"`, '"id":"dead"') + "\n").entries[0]!)
      yield* w.checkpoint()
      // the user goes back one entry and answers anew
      yield* w.append(parse(header("s") + "\n" + lineOf(n + 2).replace(`"parentId":"e${n + 1}"`, '"parentId":"m"') + "\n").entries[0]!)
    }))
    for (const leafId of ["dead", undefined]) yield* Effect.scoped(Effect.gen(function* () {
      const r = yield* store.reader(loc); (globalThis as any).gc?.()
      const h = process.memoryUsage().heapUsed; const t = performance.now()
      const c = yield* r.context(leafId === undefined ? {} : { leafId })
      console.log(leafId ?? "other branch than the checkpoint's", "context:", c.messages.length, "messages", Math.round(performance.now() - t), "ms, heap +", Math.round((process.memoryUsage().heapUsed - h) / 1e6), "MB")
    }))
    NFS.rmSync(dir, { recursive: true })
  })
}
const only = process.argv.slice(2)
const all = Effect.gen(function* () {
  for (const [name, proof] of Object.entries(proofs)) {
    if (only.length > 0 ? !only.includes(name) : name === "branch") continue
    console.log(`\n== ${name}`)
    const e: any = yield* Effect.exit(Effect.timeout(proof, "60 seconds"))
    if (e._tag === "Failure") console.log("EXIT", String(e.cause).slice(0, 400))
  }
})
await Effect.runPromise(all.pipe(Effect.provide(live)) as any)
process.exit(0)
