/** Reading a damaged line reads each of its bytes at most a fixed number of times. */
import { assert, describe, it } from "@effect/vitest"
import * as Session from "../src/Session.ts"
import { SessionEntry } from "../src/SessionLine.ts"
import { JsonScanner } from "../src/internal/jsonScanner.ts"

const entry = '{"type":"custom","id":"e","parentId":null,"timestamp":"2026-01-05T10:00:00.000Z"}'
const n = 2000

const LINES: ReadonlyArray<readonly [name: string, line: string, entries: number]> = [
  ["opened objects", '{"a":'.repeat(n), 0],
  ["opened objects that look like entries", '{"type":"a","id":"b","timestamp":"c","x":'.repeat(n), 0],
  ["closed objects before a fault", `${'{"a":'.repeat(n)}1${"}".repeat(n)}x`, 0],
  ["closed objects in an opened one", `{"a":${'{"a":'.repeat(n)}1${"}".repeat(n)}`, 0],
  ["a list of objects, torn", `{"a":[${'{"type":"text","id":"x"},'.repeat(n)}`, 0],
  ["closed objects in an opened one, then an entry", `{"a":${'{"a":'.repeat(n)}1${"}".repeat(n)}${entry}`, 1],
  ["quotes that open", '{"'.repeat(n), 0],
  ["strings that end in a bracket", `["${'{","'.repeat(n)}`, 0],
  ["a torn text, then an entry", `{"type":"message","text":"${"abc ".repeat(n)}${entry}`, 1],
  ["a torn escape, then an entry", `{"type":"message","text":"${"abc ".repeat(n)}\\${entry}`, 1],
  ["entries", entry.repeat(n), n],
  ["entries with damage between", `${entry}x`.repeat(n), 0]
]

describe("a damaged line", () => {
  for (const [name, line, entries] of LINES) {
    it(`${name}: is scanned a few times, and its whole entries are found`, () => {
      const { scan } = JsonScanner.prototype
      let scanned = 0
      const session = (() => {
        try {
          JsonScanner.prototype.scan = function (this: JsonScanner, bytes, start, end) {
            const to = scan.call(this, bytes, start, end)
            scanned += this.scannedTo - start + 1
            return to
          }
          return Session.readText(`{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}\n${line}\n`)
        } finally {
          JsonScanner.prototype.scan = scan
        }
      })()
      assert.isAtMost(scanned, 5 * line.length + 500)
      const found = session.lines.filter((one) => one instanceof SessionEntry)
      assert.lengthOf(found, entries)
      for (const one of found) assert.strictEqual(one.text, entry)
      assert.strictEqual(Buffer.from(Session.toBytes(session)).toString().split("\n")[1], line)
    })
  }
})
