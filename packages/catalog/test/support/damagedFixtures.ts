/** The damaged fixtures: their findings, and the history that Pi must send from the repaired copy. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Code } from "../../src/SessionFinding.ts"

export interface DamagedFixture {
  /** Path below `fixtures`. */
  readonly file: string
  readonly codes: ReadonlyArray<Code>
  /** The texts of the history in the request from the repaired copy, in order. */
  readonly sent: ReadonlyArray<string>
}

const TWO = ["hello", "hi"]
const FOUR = [...TWO, "and more", "more it is"]
const SUMMARY = "The conversation history before this point was compacted"
const OPEN = "No result provided"

const row = (file: string, codes: ReadonlyArray<Code>, sent: ReadonlyArray<string>): DamagedFixture => ({
  file: `${file}.jsonl`,
  codes,
  sent
})

export const damagedFixtures: ReadonlyArray<DamagedFixture> = [
  row("damaged/byte-order-mark", ["bom"], TWO),
  row("damaged/crlf", ["crlf"], TWO),
  row("damaged/cycle", ["cycle"], [...TWO, "round and round", "we go"]),
  row("damaged/duplicate-header", ["duplicate-header"], FOUR),
  row(
    "damaged/duplicate-id-chains",
    ["cycle", "duplicate-id"],
    [
      "first question",
      "first answer",
      "second question",
      "second answer, which took the first one's id",
      "third question",
      "third answer"
    ]
  ),
  row("damaged/duplicate-id", ["duplicate-id"], ["hello", "second answer with the same id"]),
  row("damaged/empty-id", ["empty-id"], FOUR),
  row("damaged/glued-line", ["glued-line"], [...TWO, "glued to the answer", "still here"]),
  row("damaged/header-glued", ["header-glued", "glued-line"], FOUR),
  row("damaged/header-not-first", ["header-not-first"], TWO),
  row("damaged/header-without-id", ["header-without-id"], TWO),
  row("damaged/invalid-utf8", ["invalid-utf8"], ["caf\ufffd", "hi"]),
  row(
    "damaged/lost-entry",
    ["malformed-line", "unknown-parent", "unknown-parent"],
    [...TWO, "another branch", "another answer"]
  ),
  row("damaged/malformed-line", ["malformed-line"], TWO),
  row("damaged/missing-final-newline", ["missing-final-newline"], TWO),
  row("damaged/missing-id", ["missing-id"], FOUR),
  row("damaged/missing-type", ["missing-type"], FOUR),
  row("damaged/newer-version", ["newer-version"], TWO),
  row("damaged/no-header", ["missing-header"], TWO),
  row("damaged/not-a-session", ["missing-header", "malformed-line", "malformed-line"], []),
  row("damaged/null-line", ["null-line"], FOUR),
  row("damaged/repeated-line", ["duplicate-id"], FOUR),
  row("damaged/scalar-last-line", ["not-an-object", "no-leaf"], TWO),
  row("damaged/scalar-lines", ["null-line", "not-an-object", "not-an-object", "not-an-object"], TWO),
  row("damaged/self-parent", ["cycle"], FOUR),
  row("damaged/torn-last-line", ["torn-line"], TWO),
  row("damaged/torn-then-glued", ["glued-line"], ["hello", "the next append", "answered"]),
  row("damaged/unknown-parent", ["unknown-parent"], ["lost to Pi", "lost too", "hello", "hi"]),
  row("damaged/unversioned-tree", ["unversioned-tree"], ["hello", "the answer that counts", "and more"]),
  row("damaged/version-2", ["old-version"], ["hello", "said by a hook", "hi"]),
  row(
    "unsound/boundary-on-result",
    ["split-tool-pair"],
    [SUMMARY, "", "a.txt", "there is a.txt", "after it", "after it too"]
  ),
  row("unsound/call-without-result", ["unanswered-call"], ["hello", "", OPEN, "and more", "more it is"]),
  row("unsound/call-without-arguments", ["broken-call"], ["hello", "", "a.txt", "and more", "more it is"]),
  row(
    "unsound/call-without-id",
    ["missing-call-id", "missing-call-id"],
    ["hello", "hi", "a.txt", "and more", "more it is"]
  ),
  row(
    "unsound/call-with-empty-id",
    ["missing-call-id", "missing-call-id"],
    ["hello", "", "a.txt", "and more", "more it is"]
  ),
  row("unsound/command-is-no-text", ["odd-command"], [...TWO, "Ran ``\n```\na.txt\n```", "and more", "more it is"]),
  row("unsound/command-without-output", ["missing-command"], [...TWO, "Ran `ls`\n(no output)"]),
  row("unsound/command-without-output-edited", ["missing-command"], ["hello", "Ran `ls`\n(no output)", "hi"]),
  row(
    "unsound/command-without-output-told",
    ["missing-command"],
    [...TWO, "Ran `ls`\n(no output)", "and more", "more it is"]
  ),
  row("unsound/custom-message-without-content", ["missing-content"], FOUR),
  row("unsound/custom-role-without-content", ["missing-content"], FOUR),
  row("unsound/edit-without-replacement", ["broken-edit"], FOUR),
  row("unsound/empty-block", ["empty-block", "empty-block"], FOUR),
  row("unsound/empty-thinking", ["empty-block"], FOUR),
  row("unsound/empty-thinking-counted", ["empty-block"], ["hello", "and more"]),
  row("unsound/message-is-text", ["missing-role"], [...TWO, "a text"]),
  row("unsound/null-block", ["null-block", "null-block"], FOUR),
  row("unsound/odd-content", ["odd-content"], ["42", "hi", "and more", "more it is"]),
  row("unsound/summary-missing", ["missing-summary"], FOUR),
  row("unsound/summary-missing-counted", ["missing-summary"], FOUR),
  row("unsound/unknown-block", ["unknown-block"], FOUR),
  row("unsound/unknown-block-of-user", ["unknown-block"], FOUR),
  row("unsound/unknown-block-told", ["unknown-block"], FOUR),
  row("unsound/odd-cwd", ["odd-cwd"], TWO),
  row("unsound/odd-error", ["odd-error"], TWO),
  row("unsound/odd-model", ["odd-model"], TWO),
  row("unsound/odd-system", ["odd-system"], TWO),
  row("unsound/odd-text", ["odd-text"], FOUR),
  row(
    "unsound/odd-text-of-result",
    ["unknown-block", "odd-text"],
    ["hello", "", ["a", "b", "c", "d", "e"].map((name) => `${name}.txt`).join("\n"), "and more", "more it is"]
  ),
  row("unsound/odd-timestamp", ["missing-timestamp", "odd-timestamp"], FOUR),
  row("unsound/odd-usage", ["odd-usage"], TWO),
  row("unsound/odd-version", ["odd-version"], TWO),
  row(
    "unsound/summary-is-no-text",
    ["odd-summary"],
    [`${SUMMARY} into the following summary:\n\n<summary>\nthey said hello`, "and more", "more it is"]
  ),
  row("unsound/content-is-text", ["text-content"], FOUR),
  row("unsound/content-is-text-failed", ["text-content"], ["hello", "and more", "more it is"]),
  row("unsound/content-missing", ["missing-content", "missing-content"], ["and more", "more it is"]),
  row("unsound/label-without-target", ["unknown-target"], TWO),
  row("unsound/long-header", ["long-header"], TWO),
  row("unsound/message-missing", ["missing-message"], TWO),
  row("unsound/message-missing-off-branch", ["missing-message"], TWO),
  row("unsound/missing-cwd", ["missing-cwd"], TWO),
  row("unsound/missing-timestamp", ["missing-timestamp"], TWO),
  row("unsound/missing-usage", ["missing-usage"], TWO),
  row("unsound/missing-usage-dormant", ["missing-usage"], [SUMMARY, "and more", "more it is", "after", "after2"]),
  row("unsound/missing-usage-earlier", ["missing-usage"], FOUR),
  row("unsound/orphan-result", ["orphan-result"], FOUR),
  row("unsound/orphan-result-edited-out", ["orphan-result"], FOUR),
  row("unsound/orphan-result-last", ["orphan-result"], TWO),
  row("unsound/parent-later", ["parent-later"], FOUR),
  row("unsound/result-is-text", ["text-content"], ["hello", "", "a.txt", "and more", "more it is"]),
  row("unsound/result-of-failed-turn", ["failed-turn-result"], ["hello", "and more", "more it is"]),
  row(
    "unsound/unknown-first-kept",
    ["unknown-first-kept"],
    [SUMMARY, "kept, or so it was meant", "kept as well", "after it", "after it too"]
  ),
  row("unsound/unknown-role", ["missing-role"], ["hello", "said by nobody", "hi"])
]

export const fixturesFolder = Path.resolve(import.meta.dirname, "../../../../fixtures")

/** The bytes of a fixture, with the given working directory. */
export const bytesOf = (file: string, cwd = "/home/dev/work/app"): Buffer => {
  const bytes = Fs.readFileSync(Path.join(fixturesFolder, file))
  // As Latin-1, because not all of them are valid UTF-8.
  return Buffer.from(bytes.toString("latin1").replaceAll("/home/dev/work/app", cwd), "latin1")
}

/** All damaged fixtures on disk. */
export const files = (): ReadonlyArray<string> =>
  ["damaged", "unsound"].flatMap((folder) =>
    Fs.readdirSync(Path.join(fixturesFolder, folder))
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => `${folder}/${name}`)
  )
