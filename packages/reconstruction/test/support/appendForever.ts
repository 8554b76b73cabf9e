/**
 * Appends entries to a session file, as Pi does, until it is killed or its input ends. Some lines are written in two
 * parts, so that a kill leaves a torn line.
 *
 *     node appendForever.ts FILE SEED
 */
import * as Fs from "node:fs"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"

const [file = "", seed = "1"] = process.argv.slice(2)
const random = SeededRandom.make(Number(seed))
let parentId: string | null = null

const append = (): void => {
  const id = random.int(2 ** 31).toString(16)
  const words = "words é🧪\u2028 ".repeat(random.chance(0.005) ? random.int(10_000) : random.int(30))
  const role = random.pick(["user", "assistant", "toolResult"])
  const content = [{ type: "text", text: words }]
  const message = {
    role,
    content,
    usage: {},
    toolCallId: id,
    toolName: "bash",
    isError: false,
    timestamp: random.int(1e9)
  }
  const bytes = Buffer.from(`${JSON.stringify({ type: "message", id, parentId, message })}\n`)
  parentId = id
  if (random.chance(0.9)) Fs.appendFileSync(file, bytes)
  else {
    const cut = random.int(bytes.length)
    Fs.appendFileSync(file, bytes.subarray(0, cut))
    const until = performance.now() + random.int(3)
    while (performance.now() < until);
    Fs.appendFileSync(file, bytes.subarray(cut))
  }
  setTimeout(append, random.int(20))
}

process.stdin.resume().once("end", () => process.exit())
append()
