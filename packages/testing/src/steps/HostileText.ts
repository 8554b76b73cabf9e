/**
 * Families of texts that are hard to read in linear time, or at all, each for any length.
 *
 * Tests use them to check that every reader terminates and takes twice the steps for twice the text.
 */

/** Texts of one kind. Equal lengths give equal texts. */
export interface HostileText {
  readonly name: string
  /** A text of exactly this many UTF-16 code units. */
  readonly text: (length: number) => string
}

/** `start`, then `unit` repeated before `end`, cut to the length. */
const run =
  (unit: string, start = "", end = "") =>
  (length: number): string => {
    const room = Math.max(0, length - start.length - end.length)
    const middle = unit.repeat(Math.ceil(room / unit.length)).slice(0, room)
    return (start + middle + end).slice(0, length)
  }

/** `open` in the first half, `close` in the second. */
const nested =
  (open: string, close: string, inside = "x") =>
  (length: number): string => {
    const depth = Math.floor(Math.max(0, length - inside.length) / (open.length + close.length))
    return (open.repeat(depth) + inside + close.repeat(depth)).padEnd(length, " ").slice(0, length)
  }

const between = (first: number, last: number): ReadonlyArray<number> =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

/**
 * All control and format characters of the basic plane, and everything that Unicode or JavaScript calls white space.
 */
export const blanks: ReadonlyArray<number> = [
  ...between(0x00, 0x20),
  ...between(0x7f, 0xa0),
  0xad,
  0x34f,
  0x61c,
  0x1680,
  0x180e,
  ...between(0x2000, 0x200f),
  ...between(0x2028, 0x202f),
  ...between(0x205f, 0x206f),
  0x3000,
  0xfeff,
  ...between(0xfff9, 0xfffb)
]

const blankFamilies = blanks.flatMap((code): ReadonlyArray<HostileText> => {
  const char = String.fromCharCode(code)
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`
  return [
    { name: `${name} once`, text: (length) => run("echo a b; ")(length).replace("echo a", `echo${char}a`) },
    { name: `${name} between words`, text: run(`git${char}status${char}`) },
    { name: `${name} repeated`, text: run(char) },
    { name: `${name} repeated between words`, text: run(char, "echo a", "b") }
  ]
})

/** Openings without an end: once before a long text, and repeated. */
const unclosed = [
  "'",
  '"',
  "`",
  "$'",
  '$"',
  "$(",
  "$((",
  "${",
  "${a:-",
  "(",
  "((",
  "[",
  "[[ ",
  "{ ",
  "{",
  "<(",
  "<",
  "<<EOF\n",
  "<<'EOF'\n",
  "<<-EOF\n\t",
  "<< EOF ",
  "cat <<A <<B\n",
  "<<<",
  "case a in a) ",
  "if a; then ",
  "while a; do ",
  "for a in b; do ",
  "function f { ",
  "a=(",
  "#",
  "\\",
  "/*",
  "<!--",
  "<![CDATA[",
  "```\n",
  "\u001b[",
  "\u001b]8;;",
  "\u009b",
  '{"a":',
  '["',
  '"\\u',
  "{{",
  "{%"
]

const nestings: ReadonlyArray<readonly [open: string, close: string]> = [
  ["(", ")"],
  ["((", "))"],
  ["[", "]"],
  ["[[ ", " ]]"],
  ["{", "}"],
  ["{ ", "; }"],
  ["{a,", "}"],
  ["$(", ")"],
  ["$((", "))"],
  ["${a:-", "}"],
  ["${a[", "]}"],
  ["`", "`"],
  ['"$(', ')"'],
  ['"${a:-', '}"'],
  ["'\"", "\"'"],
  ["<(", ")"],
  ["if a; then ", "; fi"],
  ["while a; do ", "; done"],
  ["case a in a) ", ";; esac"],
  ["f() { ", "; }"],
  ["! ", ""],
  ["time ", ""],
  ["a && (", ")"],
  ["a | (", ")"],
  ['{"a":', "}"],
  ['[{"a":', "}]"],
  ['\\"', '\\"'],
  ["<a>", "</a>"],
  ["<think>", "</think>"],
  ["{{", "}}"],
  ["{% if a %}", "{% endif %}"],
  ["> ", ""],
  ["* ", ""]
]

/** Text that is nearly a secret, a path, a number, an address, an operator or an escape, over and over. */
const nearMatches = [
  "a=",
  "a= ",
  "key = ",
  "key = key = key ",
  "password: ",
  'password="',
  "password='",
  "token=",
  "api_key_",
  "API_KEY=",
  "secretsecret",
  "Bearer ",
  "Authorization: ",
  "Authorization: Basic ",
  "AKIA",
  "AKIAAKIA0",
  "sk-",
  "sk-ant-",
  "sk-proj-",
  "ghp_",
  "github_pat_",
  "glpat-",
  "xoxb-",
  "xoxb-1-",
  "AIza",
  "eyJ",
  "eyJhbGciOi.eyJ",
  "-----BEGIN",
  "-----BEGIN PRIVATE KEY-----",
  "-----BEGIN RSA PRIVATE KEY-----\n",
  "-----END",
  "://",
  ":////",
  "http://",
  "http://http://",
  "http://a:b",
  "postgres://a:",
  "a:b@",
  "@",
  "@@@",
  "a@",
  "a@a.",
  "a.a@",
  "/",
  "../",
  "/home/",
  "/home/a",
  "C:\\Users\\",
  "~/",
  "\\",
  "\\\\\\\\",
  "\\n",
  "\\u",
  "\\u00",
  "\\u0000",
  "\\ud800",
  "%2",
  "%41",
  "&#",
  "&amp;",
  "$",
  "$a",
  "$$",
  "{}",
  "[]",
  "()",
  "''",
  '""',
  "``",
  '"a" ',
  "'a",
  "|",
  "||",
  "&",
  "&&",
  ";",
  ";;",
  "a|",
  "a;",
  "a&&",
  "2>&1 ",
  ">",
  ">>a ",
  "<<",
  "<<a ",
  "<<a<<b\n",
  "!",
  "*",
  "?",
  "+",
  "^",
  ".",
  "a.",
  "1.",
  "1.1.1.",
  "-",
  "--",
  "--a ",
  "--a=",
  "_",
  "=",
  ",",
  ":",
  ": ",
  "a: ",
  "a:",
  "~",
  "#",
  "# ",
  "0",
  "1",
  "1234567890",
  "1e",
  "-1",
  "4111 ",
  "2026-01-01T",
  "2026-",
  "00:",
  "f",
  "0123456789abcdef",
  "deadbeef-",
  "A",
  "a",
  "aB3",
  "aGVsbG8gd29ybGQ",
  "QUJD/+",
  "AAAA",
  "=====",
  "a b ",
  "a  ",
  "a\n",
  "a\r\n",
  "\n",
  "\n ",
  " \n",
  "\r",
  "\t \n",
  "a\t",
  "a 'b' \"c\" $(d) `e` ${f} ",
  "no, ",
  "actually ",
  "don't ",
  "<think>",
  "</think>",
  "<|im_start|>",
  "<tool_call>",
  "[REDACTED",
  "<SECRET_",
  "{{ a }}",
  "{% a %}",
  "{",
  "}",
  "[",
  "]",
  "{}{}",
  '{"a":1}\n',
  '{"a":',
  "null\n",
  "\u001b[31m",
  "\u001b[1;",
  "\u001b",
  "a\u0301",
  "\u0301",
  "\ud83d\udc69\u200d",
  "\ud83c\uddea",
  "ß",
  "İ",
  "ﬃ",
  "日本",
  "а",
  "é"
]

const surrogates: ReadonlyArray<HostileText> = [
  { name: "lone high surrogates", text: run("\ud83e") },
  { name: "lone low surrogates", text: run("\udd23") },
  { name: "surrogates in the wrong order", text: run("\udd23\ud83e") },
  { name: "lone surrogates between words", text: run("a\ud83eb\udd23 ") },
  { name: "lone surrogates in quotes", text: run('"\ud83e" ') }
]

/** All families. */
export const families: ReadonlyArray<HostileText> = [
  ...blankFamilies,
  { name: "all blanks in turn", text: run(blanks.map((code) => `a${String.fromCharCode(code)}`).join("")) },
  ...unclosed.flatMap((open): ReadonlyArray<HostileText> => [
    { name: `${JSON.stringify(open)} unclosed`, text: run("word ", `echo ${open}`) },
    { name: `${JSON.stringify(open)} unclosed, one word`, text: run("a", open) },
    { name: `${JSON.stringify(open)} unclosed, repeated`, text: run(open) },
    { name: `${JSON.stringify(open)} unclosed, a line each`, text: run(`echo ${open}\n`) }
  ]),
  ...nestings.map(([open, close]) => ({ name: `${JSON.stringify(open)} nested`, text: nested(open, close) })),
  ...surrogates,
  ...nearMatches.flatMap((unit): ReadonlyArray<HostileText> => [
    { name: `${JSON.stringify(unit)} repeated`, text: run(unit) },
    // The last character lets a match of all that is before it fail.
    { name: `${JSON.stringify(unit)} repeated, then a null`, text: run(unit, "", "\u0000") },
    { name: `${JSON.stringify(unit)} repeated after a key`, text: run(unit, "password=", "!") }
  ])
]
