/**
 * Finds texts that every match of a regular expression contains: literal characters outside of groups and classes that
 * no quantifier makes optional. An expression with alternatives at its top level has none, so every line is searched.
 */

/** `source` must be a valid expression under the flag `u`. */
export const requiredLiterals = (source: string): ReadonlyArray<string> => {
  const literals: Array<string> = []
  let run: Array<string> = []
  const cut = (): void => {
    if (run.length > 0) literals.push(run.join(""))
    run = []
  }
  const characters = Array.from(source)
  for (let i = 0; i < characters.length;) {
    const character = characters[i]!
    switch (character) {
      case "|":
        return []
      case "(":
        cut()
        i = afterGroup(characters, i)
        break
      case "[":
        cut()
        i = afterClass(characters, i)
        break
      case "*":
      case "?":
      case "{":
        // The character before it is optional. (After a group or class the run is empty.)
        run.pop()
        cut()
        i = character === "{" ? characters.indexOf("}", i) + 1 : i + 1
        break
      case "+":
        cut()
        i++
        // In `a+?` the `a` is required too.
        if (characters[i] === "?") i++
        break
      case ".":
      case "^":
      case "$":
        cut()
        i++
        break
      case "\\": {
        const escaped = characters[i + 1]!
        i = afterEscape(characters, i)
        if (/[\^$\\.*+?()[\]{}|/]/u.test(escaped)) run.push(escaped)
        else cut()
        break
      }
      default:
        run.push(character)
        i++
    }
  }
  cut()
  return literals
}

const afterEscape = (characters: ReadonlyArray<string>, at: number): number => {
  const kind = characters[at + 1]
  const next = characters[at + 2]
  if ((kind === "u" || kind === "p" || kind === "P") && next === "{") return characters.indexOf("}", at) + 1
  if (kind === "u") return at + 6
  if (kind === "x") return at + 4
  if (kind === "c") return at + 3
  if (kind === "k") return characters.indexOf(">", at) + 1
  if (kind !== undefined && /[1-9]/.test(kind)) {
    let end = at + 2
    while (/^[0-9]$/.test(characters[end] ?? "")) end++
    return end
  }
  return at + 2
}

/** The index after the class that opens at `at`. With the flag `u` classes do not nest. */
const afterClass = (characters: ReadonlyArray<string>, at: number): number => {
  let i = at + 1
  while (i < characters.length && characters[i] !== "]") i = characters[i] === "\\" ? i + 2 : i + 1
  return i + 1
}

const afterGroup = (characters: ReadonlyArray<string>, at: number): number => {
  let depth = 0
  for (let i = at; i < characters.length;) {
    const character = characters[i]
    if (character === "\\") i += 2
    else if (character === "[") i = afterClass(characters, i)
    else {
      if (character === "(") depth++
      else if (character === ")" && --depth === 0) return i + 1
      i++
    }
  }
  return characters.length
}
