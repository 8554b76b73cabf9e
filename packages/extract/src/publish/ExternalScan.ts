/**
 * Scans a dataset for secrets with trufflehog or gitleaks from the PATH.
 *
 * It fails closed: a finding, a missing scanner, a failed scan and unexpected output are all errors. Scanners print the
 * secrets that they find, so errors hold only names of rules, files and lines. trufflehog is run without verification, so
 * neither scanner uses the network.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Stream from "effect/Stream"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"

export const ExternalScanner = Schema.Literals(["trufflehog", "gitleaks"])
export type ExternalScanner = typeof ExternalScanner.Type

const Place = Schema.Struct({
  /** The scanner's name of the rule. */
  rule: Schema.String,
  /** Relative to the directory. */
  file: Schema.String,
  /** From 1. Absent when the scanner does not report it. */
  line: Schema.optionalKey(Schema.Int)
})
type Place = typeof Place.Type

/** The scanner is not on the PATH. Nothing was scanned. */
export class ScannerMissing extends Schema.TaggedError<ScannerMissing>()("ScannerMissing", {
  scanner: ExternalScanner
}) {
  override get message(): string {
    return `${this.scanner} is not on the PATH: install it, or leave out --scan ${this.scanner}`
  }
}

/** The scan failed, so the directory may hold secrets. */
export class ScannerFailed extends Schema.TaggedError<ScannerFailed>()("ScannerFailed", {
  scanner: ExternalScanner,
  directory: Schema.String,
  /** Our text, never output of the scanner. */
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.scanner} failed on ${this.directory}: ${this.reason}; do not publish this directory`
  }
}

/** The scanner found secrets. */
export class SecretsLeft extends Schema.TaggedError<SecretsLeft>()("SecretsLeft", {
  scanner: ExternalScanner,
  directory: Schema.String,
  /** Number of findings by the scanner's rule. */
  counts: Schema.Record(Schema.String, Schema.Int),
  /** The first findings. */
  places: Schema.Array(Place)
}) {
  override get message(): string {
    const counts = Object.entries(this.counts).map(([rule, count]) => `${rule} (${count})`)
    const places = this.places.map(({ file, line }) => (line === undefined ? file : `${file}:${line}`))
    return `${this.scanner} found secrets in ${this.directory}: ${counts.join(", ")}; at ${places.join(", ")}; do not publish this directory`
  }
}

/** Places that an error names at most. */
const NAMED = 10

interface Outcome {
  readonly exitCode: number
  readonly places: ReadonlyArray<Place>
}

type Requirements = ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path

/** Succeeds when the scanner read everything in the directory and found nothing. */
export const scanExternally = Effect.fn("ExternalScan.scanExternally")(function* (
  scanner: ExternalScanner,
  directory: string
): Effect.fn.Return<void, ScannerMissing | ScannerFailed | SecretsLeft, Requirements> {
  const path = yield* Path.Path
  const absolute = path.resolve(directory)
  const fail = (reason: string): ScannerFailed => new ScannerFailed({ scanner, directory: absolute, reason })
  const run = scanner === "trufflehog" ? trufflehog(absolute, fail) : gitleaks(absolute, fail)
  const { exitCode, places } = yield* Effect.scoped(run).pipe(
    Effect.catchTag("PlatformError", (error) =>
      Effect.fail(isMissing(error) ? new ScannerMissing({ scanner }) : fail("it cannot be run"))
    )
  )
  if (places.length > 0) {
    const counts: { [rule: string]: number } = {}
    for (const { rule } of places) counts[rule] = (counts[rule] ?? 0) + 1
    const relative = places.slice(0, NAMED).map((place) => ({ ...place, file: path.relative(absolute, place.file) }))
    return yield* new SecretsLeft({ scanner, directory: absolute, counts, places: relative })
  }
  if (exitCode !== 0) return yield* fail(`it ended with exit status ${exitCode}`)
})

const isMissing = (error: PlatformError.PlatformError): boolean =>
  error.reason._tag === "NotFound" && error.reason.module === "ChildProcess"

/** Runs a program. Succeeds with its exit status, and with `fold` over the lines that it prints. */
const run = Effect.fnUntraced(function* <A>(
  program: string,
  args: ReadonlyArray<string>,
  initial: A,
  fold: (value: A, line: string, from: "stdout" | "stderr") => A
) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const handle = yield* spawner.spawn(ChildProcess.make(program, [...args], { stdin: "ignore" }))
  let value = initial
  const read = (from: "stdout" | "stderr") =>
    handle[from].pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.runForEach((line) =>
        Effect.sync(() => {
          if (line.trim() !== "") value = fold(value, line, from)
        })
      )
    )
  yield* Effect.all([read("stdout"), read("stderr")], { concurrency: 2 })
  const exitCode = yield* handle.exitCode
  return { exitCode: Number(exitCode), value }
})

const TrufflehogFinding = Schema.fromJsonString(
  Schema.Struct({
    DetectorName: Schema.String,
    SourceMetadata: Schema.Struct({
      Data: Schema.Struct({
        Filesystem: Schema.Struct({ file: Schema.String, line: Schema.optionalKey(Schema.Int) })
      })
    })
  })
)
const decodeTrufflehogFinding = SchemaParser.decodeUnknownResult(TrufflehogFinding)

/** Exit status for findings with `--fail`. */
const TRUFFLEHOG_FOUND = 183

const trufflehog = Effect.fnUntraced(function* (directory: string, fail: (reason: string) => ScannerFailed) {
  const args = ["filesystem", directory, "--json", "--no-update", "--no-verification", "--fail"]
  const start = { places: new Array<Place>(), problem: "" }
  const { exitCode, value } = yield* run("trufflehog", args, start, (seen, line, from) => {
    if (from === "stderr") return isErrorLine(line) ? { ...seen, problem: "it could not read everything" } : seen
    const decoded = decodeTrufflehogFinding(line)
    if (Result.isFailure(decoded)) return { ...seen, problem: "it printed something other than findings" }
    const { file, line: at } = decoded.success.SourceMetadata.Data.Filesystem
    seen.places.push({ rule: decoded.success.DetectorName, file, ...(at === undefined ? {} : { line: at }) })
    return seen
  })
  if (value.places.length === 0) {
    if (value.problem !== "") return yield* fail(value.problem)
    if (exitCode === TRUFFLEHOG_FOUND) return yield* fail("it found something and did not say what")
  }
  return { exitCode, places: value.places } satisfies Outcome
})

/** Whether a line of the JSON log is an error. */
const isErrorLine = (line: string): boolean => /"level"\s*:\s*"(?:error|fatal|panic)[^"]*"/u.test(line)

const decodeGitleaksReport = SchemaParser.decodeUnknownResult(
  Schema.fromJsonString(
    Schema.Array(
      Schema.Struct({ RuleID: Schema.String, File: Schema.String, StartLine: Schema.optionalKey(Schema.Int) })
    )
  )
)

/** By default findings and failures both give 1. */
const GITLEAKS_FOUND = 99

const gitleaks = Effect.fnUntraced(function* (directory: string, fail: (reason: string) => ScannerFailed) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const temporary = yield* fs.makeTempDirectoryScoped({ prefix: "pi-sessions-" })
  const report = path.join(temporary, "report.json")
  // Neither a comment in a session nor a file in the working directory may suppress findings.
  const { exitCode } = yield* run(
    "gitleaks",
    [
      "dir",
      directory,
      "--no-banner",
      "--redact=100",
      "--ignore-gitleaks-allow",
      "--gitleaks-ignore-path",
      temporary,
      "--exit-code",
      String(GITLEAKS_FOUND),
      "--report-format",
      "json",
      "--report-path",
      report
    ],
    undefined,
    () => undefined
  )
  if (exitCode !== 0 && exitCode !== GITLEAKS_FOUND) return { exitCode, places: [] } satisfies Outcome
  const text = yield* Effect.catch(fs.readFileString(report), () => Effect.fail(fail("it wrote no report")))
  const decoded = decodeGitleaksReport(text)
  if (Result.isFailure(decoded)) return yield* fail("its report is not what gitleaks writes")
  const places = decoded.success.map(({ File, RuleID, StartLine }) => ({
    rule: RuleID,
    file: path.resolve(directory, File),
    ...(StartLine === undefined ? {} : { line: StartLine })
  }))
  if (places.length === 0 && exitCode === GITLEAKS_FOUND) return yield* fail("it found something and did not say what")
  return { exitCode, places } satisfies Outcome
})
