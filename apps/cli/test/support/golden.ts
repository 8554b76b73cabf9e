/**
 * What people read, byte for byte. `PI_SESSIONS_WRITE_GOLDEN=1` writes the files anew; look at what changed before it is
 * committed.
 */
import * as Fs from "node:fs"
import * as process from "node:process"

const GOLDEN = new URL("../golden/", import.meta.url)
const WRITE = process.env["PI_SESSIONS_WRITE_GOLDEN"] === "1"

/** What a golden file holds; the text itself once it was written anew. */
export const golden = (name: string, text: string): string => {
  const file = new URL(name, GOLDEN)
  if (WRITE) {
    Fs.mkdirSync(new URL(".", file), { recursive: true })
    Fs.writeFileSync(file, text)
  }
  return Fs.readFileSync(file, "utf8")
}
