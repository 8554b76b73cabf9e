/**
 * Fails on what makes the code hard to find or to read: folders of more than 32 files, files of more than 400 lines,
 * files without a header, words that comments should not use, a README of more than 150 lines, and lines of
 * ARCHITECTURE.md that do not fit in a terminal.
 */
import { readFileSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"

const FILES_MAX = 32
const LINES_MAX = 400
const README_LINES_MAX = 150
const ARCHITECTURE_COLUMNS_MAX = 100
/** They hide who does something, or cite documents that readers do not have. */
const VAGUE = /\b(?:told|tells|whoever|nobody|seed 00\d|the ADR)\b/iu
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/gu

const problems = []
const check = (folder) => {
  const names = readdirSync(folder)
  const sources = names.filter((name) => /\.tsx?$/u.test(name))
  if (sources.length > FILES_MAX) problems.push(`${folder}: ${sources.length} files; at most ${FILES_MAX}`)
  for (const name of names) {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) check(path)
    else if (sources.includes(name)) checkFile(path)
  }
}
const checkFile = (path) => {
  const text = readFileSync(path, "utf8")
  const lines = text.split("\n").length - 1
  if (lines > LINES_MAX) problems.push(`${path}: ${lines} lines; at most ${LINES_MAX}`)
  if (!/^(?:#![^\n]*\n)?\/[/*]/u.test(text)) problems.push(`${path}: begins without a comment that says what it is for`)
  for (const { 0: comment, index } of text.matchAll(COMMENT)) {
    const vague = VAGUE.exec(comment)
    if (vague === null) continue
    const line = text.slice(0, index + vague.index).split("\n").length
    problems.push(`${path}:${line}: "${vague[0]}" in a comment; say who or what does it`)
  }
}

for (const parent of ["packages", "apps"]) for (const name of readdirSync(parent)) check(join(parent, name, "src"))
check("packages/viewer/page/src")
const linesOf = (file) => readFileSync(file, "utf8").split("\n")
if (linesOf("README.md").length - 1 > README_LINES_MAX) problems.push(`README.md: more than ${README_LINES_MAX} lines`)
for (const [at, line] of linesOf("ARCHITECTURE.md").entries())
  if (line.length > ARCHITECTURE_COLUMNS_MAX) problems.push(`ARCHITECTURE.md:${at + 1}: ${line.length} columns`)

if (problems.length > 0) {
  console.error(problems.join("\n"))
  process.exitCode = 1
}
