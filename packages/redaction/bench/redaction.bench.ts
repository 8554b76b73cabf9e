/**
 * Speed of redaction, compared with one regular expression of all prefixed formats. Texts are those of generated sessions
 * and of the sessions in PI_SESSIONS_CORPUS. Run with `pnpm bench`. Reading and parsing are not timed.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as Bench from "@pi-sessions/testing/Bench"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"

const megabytes = Number(process.env["PI_SESSIONS_BENCH_MB"] ?? 30)
const contender = Path.join(import.meta.dirname, "contenders/redact.ts")
const dir = Fs.mkdtempSync(Path.join(Os.tmpdir(), "pi-sessions-bench-"))

function* strings(value: unknown): Generator<string> {
  if (typeof value === "string") yield value
  else if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) yield* strings(member)
  }
}

/** Writes the strings of all entries of sessions to a file, one JSON string per line. */
const texts = (name: string, sessions: ReadonlyArray<string>): { readonly file: string; readonly bytes: number } => {
  const found: Array<string> = []
  for (const path of sessions) {
    for (const entry of Session.read(Fs.readFileSync(path)).tree.getEntries()) found.push(...strings(entry.decode()))
  }
  const file = Path.join(dir, name)
  Fs.writeFileSync(file, found.map((text) => `${JSON.stringify(text)}\n`).join(""))
  return { file, bytes: found.reduce((sum, text) => sum + text.length, 0) }
}

const measure = (title: string, { bytes, file }: ReturnType<typeof texts>): void => {
  const own = (name: string, what: string): Bench.Contender => ({
    name,
    command: [process.execPath, "--expose-gc", contender, file, what],
    reports: true
  })
  Bench.table({ title: `redaction of ${(bytes / 1e6).toFixed(1)} MB of text: ${title}`, bytes }, [
    own("one plain expression", "combined"),
    own("prefixed formats", "prefixed"),
    own("and context", "secrets"),
    own("all: secrets, homes, names, addresses", "full")
  ])
}

try {
  const generated = Path.join(dir, "session.jsonl")
  await LargeSession.write(generated, { entries: Math.ceil((megabytes * 1e6) / 1300), seed: 1 })
  measure("generated sessions", texts("generated.ndjson", [generated]))
  const corpus = process.env["PI_SESSIONS_CORPUS"] ?? ""
  if (corpus === "") process.stdout.write("not measured: PI_SESSIONS_CORPUS is not set\n")
  else {
    const sessions = Fs.readdirSync(corpus).filter((name) => name.endsWith(".jsonl"))
    const paths = sessions.map((name) => Path.join(corpus, name))
    measure("sessions of the corpus", texts("corpus.ndjson", paths))
  }
} finally {
  Fs.rmSync(dir, { recursive: true, force: true })
}
