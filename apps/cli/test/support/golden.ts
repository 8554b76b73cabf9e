/** Recorded output. `PI_SESSIONS_WRITE_GOLDEN=1` rewrites the files; check the changes before a commit. */
import * as Fs from "node:fs"
import * as process from "node:process"

const GOLDEN = new URL("../golden/", import.meta.url)
/** Whether the files are rewritten. */
export const isRecording = process.env["PI_SESSIONS_WRITE_GOLDEN"] === "1"

/** The recorded text; after a rewrite, the text itself. */
export const golden = (name: string, text: string): string => {
  const file = new URL(name, GOLDEN)
  if (isRecording) {
    Fs.mkdirSync(new URL(".", file), { recursive: true })
    Fs.writeFileSync(file, text)
  }
  return Fs.readFileSync(file, "utf8")
}
