/**
 * Loaded into `extract` by NODE_OPTIONS=--import: parsing JSON with the marker never ends. So a session can hang in the real
 * program, whose own readers always end.
 */
const MARKER = "this never ends"

const parse = JSON.parse.bind(JSON)

JSON.parse = (text: string, reviver?: (this: unknown, key: string, value: unknown) => unknown): unknown => {
  while (text.includes(MARKER));
  return parse(text, reviver)
}
