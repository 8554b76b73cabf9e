/** Fails on an import that points up or around: from a package to one above it, or into another package's private files. */
import { readFileSync, readdirSync, statSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"

/** From the bottom to the top. Packages of one level do not import each other. */
const LEVELS = [
  ["core"],
  ["sqlite", "session-file"],
  ["store", "redaction"],
  ["catalog", "reconstruction", "samples"],
  ["formats"],
  ["extract"],
  ["report"],
  ["viewer"]
]
const levelOf = (name) => LEVELS.findIndex((level) => level.includes(name))

function* files(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) yield* files(path)
    else if (/\.tsx?$/u.test(name)) yield path
  }
}

const problems = []
for (const name of readdirSync("packages")) {
  const level = levelOf(name)
  if (level < 0 && name !== "testing") problems.push(`packages/${name} is in no level; add it to .ci/checkLevels.mjs`)
  for (const file of [...files(`packages/${name}/src`)]) {
    for (const [, specifier] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/gu)) {
      const to = /^@pi-sessions\/([^/]+)\/(.+)$/u.exec(specifier)
      const outside =
        specifier.startsWith(".") && relative(`packages/${name}`, resolve(file, "..", specifier)).startsWith("..")
      if (outside) problems.push(`${file}: ${specifier} leaves the package`)
      if (to === null || name === "testing") continue
      if (levelOf(to[1]) >= level || to[1] === "testing") problems.push(`${file}: ${name} must not import ${to[1]}`)
      else if (/^[a-z]/u.test(basename(to[2])) || to[2].includes("internal/"))
        problems.push(`${file}: ${specifier} is private`)
    }
  }
}
if (problems.length > 0) {
  console.error(problems.join("\n"))
  process.exitCode = 1
}
