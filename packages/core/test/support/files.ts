/** Session files of the repository's fixtures and of the corpus. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as settings from "./settings.ts"

/** All `.jsonl` files below a directory, sorted; none when there is no directory. */
export const below = (dir: string): ReadonlyArray<string> =>
  Fs.existsSync(dir)
    ? Fs.readdirSync(dir, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".jsonl"))
        .sort()
        .map((name) => Path.join(dir, name))
    : []

export const fixtures = (): ReadonlyArray<string> =>
  below(Path.join(import.meta.dirname, "..", "..", "..", "..", "fixtures"))

/** The files below `PI_SESSIONS_CORPUS`. Writes a note when it is not set. */
export const corpus = (): ReadonlyArray<string> => {
  if (settings.corpus === undefined) {
    settings.note("PI_SESSIONS_CORPUS is not set: no corpus is read")
    return []
  }
  return below(settings.corpus)
}
