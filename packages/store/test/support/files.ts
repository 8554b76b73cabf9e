/** Directories as values, to compare them. */
import * as Fs from "node:fs"
import * as Path from "node:path"

/** Every path below a directory with its bytes, directories as `name/` with none. */
export const below = (directory: string): ReadonlyMap<string, Buffer> =>
  new Map(
    Fs.readdirSync(directory, { recursive: true, withFileTypes: true })
      .map((entry): readonly [string, Buffer] => {
        const path = Path.join(entry.parentPath, entry.name)
        const name = Path.relative(directory, path)
        return entry.isDirectory() ? [`${name}/`, Buffer.alloc(0)] : [name, Fs.readFileSync(path)]
      })
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
  )

/** Names whose bytes differ, or that only one of the two has. */
export const changed = (
  before: ReadonlyMap<string, Uint8Array>,
  after: ReadonlyMap<string, Uint8Array>
): ReadonlyArray<string> =>
  [...new Set([...before.keys(), ...after.keys()])].filter((name) => {
    const [one, other] = [before.get(name), after.get(name)]
    return one === undefined || other === undefined || Buffer.compare(one, other) !== 0
  })
