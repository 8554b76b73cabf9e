/**
 * The machine-readable output of a call: exit status, stdout, and the files that it wrote. Paths of the working folder
 * are replaced, so that the same call gives the same text in any folder.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./callCli.ts"
import { fixtures } from "./storeFolder.ts"

/** Longer text is recorded as its length and hash. In characters. */
const VERBATIM = 4000

/** One call in a folder that holds a copy of the fixtures. */
export interface RecordedCall {
  readonly args: ReadonlyArray<string>
  /** Files and folders, relative to the working folder, that are part of the output. */
  readonly writes?: ReadonlyArray<string>
}

/** A working folder with a copy of the fixtures, whose modification times are one minute apart in the order of names. */
export const workingFolder = Effect.map(temporaryFolder, (folder) => {
  const copy = Path.join(folder, "fixtures")
  Fs.cpSync(fixtures, copy, { recursive: true })
  for (const [at, file] of filesBelow(copy).entries()) {
    const time = Date.UTC(2026, 0, 2) / 1000 + at * 60
    Fs.utimesSync(file, time, time)
  }
  Fs.writeFileSync(Path.join(folder, "redaction.key"), `${"5a".repeat(32)}\n`, { mode: 0o600 })
  return folder
})

/** Runs a call and gives the text to be compared. Logs and progress on stderr are left out: they are for people. */
export const record = ({ args, writes = [] }: RecordedCall, folder: string): Effect.Effect<string> =>
  Effect.gen(function* () {
    const { status, stdout } = yield* call(args, folder, false, {
      HOME: folder,
      XDG_STATE_HOME: Path.join(folder, "state")
    })
    const files = writes.flatMap((name) => filesBelow(Path.join(folder, name)))
    const written = files.map((file) => {
      const bytes = machinePart(file, folder)
      return `${Path.relative(folder, file)} ${bytes.length} ${sha256(bytes)}`
    })
    const text = withoutFolder(stdout, folder)
    const shown = text.length <= VERBATIM ? text : `${text.length} characters ${sha256(text)}\n`
    return [`$ ${args.join(" ")}`, `exit ${status}`, shown, ...written, ""].join("\n")
  })

/** Length and hash of each answer that a page made by `view --out` holds, by its address. */
export const viewAnswers = (page: string, folder: string): string => {
  const [, json = "{}"] = /<script type="application\/json"[^>]*>(.*?)<\/script>/su.exec(page) ?? []
  const answers: unknown = JSON.parse(withoutFolder(json, folder))
  return Object.entries(Object(answers))
    .map(([address, answer]) => [address, JSON.stringify(answer)] as const)
    .map(([address, text]) => `${address} ${text.length} ${sha256(text)}\n`)
    .join("")
}

/** Replaces the folder, what is derived from paths in it (a shard's plan, the viewer's session keys), and a fork's time. */
const withoutFolder = (text: string, folder: string): string => {
  const keys = new Map<string, number>()
  const numberOf = (key: string): number => {
    if (!keys.has(key)) keys.set(key, keys.size + 1)
    return keys.get(key) ?? 0
  }
  return text
    .replaceAll(folder, "FOLDER")
    .replaceAll(/"plan":"[0-9a-f]{64}"/gu, '"plan":"PLAN"')
    .replaceAll(/"key":"[0-9a-f]{32}"/gu, '"key":"KEY"')
    .replaceAll(/"at": "[^"]+"/gu, '"at": "TIME"')
    .replaceAll(/migration-[0-9a-f]{16}/gu, "migration")
    .replaceAll(/\.run-[0-9a-f-]+/gu, ".run")
    .replaceAll(/"(id|timestamp)":"[^"]+"(?=[^\n]*"parentSession":"FOLDER)/gu, '"$1":"FORK"')
    .replaceAll(/(sessions\/|"key":")([0-9a-f]{16})/gu, (_, before, key) => `${before}key-${numberOf(key)}`)
}

/** The bytes of a file that programs read. Of a dataset card that is its front matter; the rest is prose. */
const machinePart = (file: string, folder: string): Buffer => {
  const text = withoutFolder(Fs.readFileSync(file, "latin1"), folder)
  const part = Path.basename(file) === "README.md" ? text.slice(0, text.indexOf("\n---\n", 4)) : text
  return Buffer.from(part, "latin1")
}

/** The files below a folder in the order of their paths, or the one file. */
const filesBelow = (place: string): ReadonlyArray<string> => {
  const state = Fs.statSync(place, { throwIfNoEntry: false })
  if (state?.isDirectory() !== true) return state === undefined ? [] : [place]
  return Fs.readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => Path.join(entry.parentPath, entry.name))
    .sort()
}

const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex")
