/**
 * Loaded into `extract` by NODE_OPTIONS=--import: reading JSON that names the marker never ends. In this way a session can
 * hang in the real program, whose readers all end.
 */
const MARKER = "this never ends"

const parse = JSON.parse.bind(JSON)

JSON.parse = (text: string, reviver?: (this: unknown, key: string, value: unknown) => unknown): unknown => {
  while (text.includes(MARKER));
  return parse(text, reviver)
}
