/**
 * Damage to the bytes of a session: bytes and lines removed, repeated, swapped, glued or cut off, fields lost, ids and
 * links that are wrong.
 */
import { type SeededRandom } from "../SeededRandom.ts"

const TOKENS = [
  '"',
  "{",
  "}",
  "}{",
  "\n",
  "\r\n",
  "\u0000",
  "\ufeff",
  "null\n",
  "\n42\n",
  "\n[]\n",
  '\n{"id":"a"}\n',
  '\n{"type":"session"}\n'
]

const ODD_BLOCKS = ["null", "42", '"text"', "[]", '{"type":"odd"}', '{"type":"text"}', '{"type":"toolCall","name":"t"}']

/** Does one thing to the bytes of a session. */
export const damage = (random: SeededRandom, bytes: Buffer): Buffer => {
  const lines = bytes.toString("latin1").split("\n")
  const at = random.int(bytes.length + 1)
  const to = Math.min(bytes.length, at + 1 + random.int(random.chance(0.5) ? 3 : 300))
  const token = Buffer.from(TOKENS[random.int(TOKENS.length)] ?? "")
  const line = random.int(lines.length)
  const [first = "", second = ""] = [lines[line], lines[line + 1]]
  const idOf = (text: string): string => /"id":"([^"]*)"/.exec(text)?.[1] ?? "none"
  const other = lines[random.int(lines.length)] ?? ""
  const replace = (from: number, count: number, ...by: ReadonlyArray<string>): Buffer =>
    Buffer.from([...lines.slice(0, from), ...by, ...lines.slice(from + count)].join("\n"), "latin1")
  const edit = (pattern: RegExp, by: string): Buffer =>
    replace(
      line,
      1,
      first.replace(pattern, () => by)
    )
  return random.weighted<() => Buffer>(
    [2, () => Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)])],
    [2, () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)])],
    [1, () => Buffer.concat([bytes.subarray(0, at), Buffer.from([random.int(256)]), bytes.subarray(to)])],
    [1, () => bytes.subarray(0, at)],
    [1, () => bytes.subarray(at)],
    [2, () => replace(line, 2, first + second)],
    [2, () => replace(line, 2, first.slice(0, random.int(first.length + 1)) + second)],
    [1, () => replace(line, 1, first, first)],
    [2, () => replace(line, 1)],
    [2, () => replace(line, 2, second, first)],
    [1, () => replace(line, 1, "", other)],
    [3, () => edit(/"parentId":("[^"]*"|null)/, `"parentId":"${random.chance(0.3) ? "nobody" : idOf(other)}"`)],
    [2, () => edit(/"id":"[^"]*"/, `"id":"${idOf(other)}"`)],
    [1, () => edit(/"id":"[^"]*",?/, "")],
    [1, () => edit(/"id":"[^"]*"/, '"id":""')],
    [2, () => edit(/"usage":/, '"usages":')],
    [2, () => edit(/"content":/, random.chance(0.5) ? '"contents":' : '"content":"text","was":')],
    [1, () => edit(/"message":/, '"massage":')],
    [2, () => edit(/"content":\[/, `"content":[${ODD_BLOCKS[random.int(ODD_BLOCKS.length)]},`)],
    [1, () => edit(/"content":("[^"]*"|\[)/, '"content":42,"was":[')],
    [1, () => edit(/"(text|thinking|arguments|name|summary|command|output|replacement)":/, '"lost":')],
    [1, () => edit(/"replacement":(null|\{)/, '"replacement":{"content":[null]},"was":{')],
    [2, () => edit(/"toolCallId":"/, '"toolCallId":"x')],
    [1, () => edit(/"stopReason":"[^"]*"/, '"stopReason":"aborted"')],
    [2, () => edit(/"firstKeptEntryId":"[^"]*"/, `"firstKeptEntryId":"${idOf(other)}"`)],
    [1, () => replace(0, 1, (lines[0] ?? "").replace(/"version":3,?/, random.chance(0.5) ? "" : '"version":2,'))],
    [1, () => Buffer.concat([Buffer.from("\ufeff"), bytes])]
  )()
}
