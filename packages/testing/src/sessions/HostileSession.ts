/**
 * Writes session files as Pi 0.78 would, in which all texts of users, models and tools belong to one hostile family of
 * HostileText.ts; and folders of sessions of common sizes, some of them hostile.
 *
 * The bytes depend only on the options. Both Pis open the files. The first turn of each file has unique words, so that
 * no two files count as duplicates.
 */
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { type HostileText, families } from "../steps/HostileText.ts"
import * as LargeSession from "./LargeSession.ts"
import * as SeededRandom from "../SeededRandom.ts"
import * as sampleText from "./internal/sampleText.ts"

export interface HostileSessionOptions {
  readonly family: HostileText
  /** Approximate length of the file; the last turn is not cut. */
  readonly bytes: number
  readonly seed: number
}

const start = Date.UTC(2026, 0, 5, 10)
const OWN_WORDS = 4000
/** Lengths of texts, in rotation; limited by a share of the file. */
const LENGTHS = [8, 60, 700, 9000, 120_000, 1_000_000] as const
const LONGEST_SHARE = 0.2

const usage = {
  input: 100,
  output: 50,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 150,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
}

/** Appends lines to a list, each a child of the previous one. */
class Lines {
  readonly lines: Array<string> = []
  bytes = 0
  #clock = start
  #parentId: string | null = null
  readonly #salt: number

  constructor(header: object, salt: number) {
    this.#salt = salt
    this.#push(header)
  }

  #push(value: object): void {
    const line = `${JSON.stringify(value)}\n`
    this.lines.push(line)
    this.bytes += Buffer.byteLength(line)
  }

  message(message: { readonly role: string; readonly [key: string]: unknown }): void {
    this.#clock += 1000
    // Products with an odd number are distinct modulo 2 ** 32.
    const id = ((Math.imul(this.lines.length, 0x9e3779b1) ^ this.#salt) >>> 0).toString(16).padStart(8, "0")
    const timestamp = new Date(this.#clock).toISOString()
    this.#push({
      type: "message",
      id,
      parentId: this.#parentId,
      timestamp,
      message: { ...message, timestamp: this.#clock }
    })
    this.#parentId = id
  }

  answer(content: ReadonlyArray<object>, stopReason: "stop" | "toolUse"): void {
    const model = { api: "openai-completions", provider: "fake", model: "fake-1" }
    this.message({ role: "assistant", content, ...model, usage, stopReason })
  }
}

const text = (text: string) => ({ type: "text", text })

/** The text of a session. */
export const make = ({ bytes, family, seed }: HostileSessionOptions): string => {
  const random = SeededRandom.make(seed)
  const own = sampleText.makePool(random)
  const salt = random.int(2 ** 32)
  const id = `019b8f6a-0000-7000-8000-${seed.toString(16).padStart(12, "0")}`
  const lines = new Lines(
    { type: "session", version: 3, id, timestamp: new Date(start + seed * 60_000).toISOString(), cwd: "/" },
    salt
  )
  lines.message({ role: "user", content: [text(own(OWN_WORDS))] })
  lines.answer([text(own(OWN_WORDS))], "stop")
  const longest = Math.max(LENGTHS[0], bytes * LONGEST_SHARE)
  // A character can take six bytes of JSON.
  const lengths = LENGTHS.filter((length) => length * 6 <= longest)
  const said = (at: number): string => family.text(lengths[at % lengths.length] ?? LENGTHS[0])
  for (let turn = 0; lines.bytes < bytes; turn++) {
    lines.message({ role: "user", content: [text(said(turn))] })
    const calls = [
      { name: "bash", arguments: { command: said(turn + 1), timeout: 60 } },
      { name: "read", arguments: { path: `/srv/app/${said(0)}` } },
      {
        name: "edit",
        arguments: { path: "/srv/app/a.ts", edits: [{ oldText: said(turn + 2), newText: said(turn + 3) }] }
      },
      { name: "grep", arguments: { pattern: said(1), path: said(0) } }
    ].map((call, at) => ({ type: "toolCall", id: `call_${turn}_${at}`, ...call }))
    const thinking = { type: "thinking", thinking: said(turn + 4), thinkingSignature: "reasoning_content" }
    lines.answer([thinking, text(said(turn + 5)), ...calls], "toolUse")
    for (const [at, { id: toolCallId, name: toolName }] of calls.entries()) {
      const content = [text(said(turn + at))]
      lines.message({ role: "toolResult", toolCallId, toolName, content, isError: at === 3 })
    }
    lines.answer([text(`Done with turn ${turn}. ${said(turn)}`)], "stop")
  }
  return lines.lines.join("")
}

export interface HostileFolderOptions {
  readonly sessions: number
  readonly seed: number
  /** Share of hostile files. Default: 0.05. */
  readonly hostile?: number
  /** Range of file sizes, distributed evenly by logarithm. */
  readonly bytes: { readonly least: number; readonly most: number }
}

export interface HostileFolder {
  readonly bytes: number
  /** Names of the hostile files. */
  readonly hostile: ReadonlyArray<string>
}

/** Mean line length and entries between compactions, as in real sessions. */
const MEAN_BYTES = 6500
const COMPACT_EVERY = 400

/** Writes sessions into an existing folder. Families rotate; the seed selects the first. */
export const writeFolder = async (folder: string, options: HostileFolderOptions): Promise<HostileFolder> => {
  const { hostile = 0.05, seed, sessions } = options
  const { least, most } = options.bytes
  const random = SeededRandom.make(seed)
  const first = random.int(families.length)
  const names: Array<string> = []
  let bytes = 0
  for (let n = 0; n < sessions; n++) {
    const size = Math.floor(least * (most / least) ** random.next())
    // Hostile files are distributed evenly.
    const isHostile = Math.floor((n + 1) * hostile) > Math.floor(n * hostile)
    // Neighbours in the list are similar, so take distant ones.
    const family = families[(first + names.length * 31) % families.length]
    const name = `${String(n).padStart(5, "0")}${isHostile ? "-hostile" : ""}.jsonl`
    const file = Path.join(folder, name)
    if (isHostile && family !== undefined) {
      names.push(name)
      await Fs.writeFile(file, make({ family, bytes: size, seed: seed + n }))
    } else {
      const entries = Math.max(4, Math.round(size / MEAN_BYTES))
      const meanBytes = Math.max(600, Math.min(MEAN_BYTES, size / entries))
      await LargeSession.write(file, { entries, seed: seed + n, meanBytes, compactEvery: COMPACT_EVERY })
    }
    bytes += (await Fs.stat(file)).size
  }
  return { bytes, hostile: names }
}
