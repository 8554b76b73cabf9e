/**
 * Opens the user's browser with a private file that redirects to the address. The address holds the token, and every user
 * of the machine can read the arguments of a program.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as process from "node:process"
import * as ChildProcess from "effect/process/ChildProcess"
import { Invocation } from "../../Invocation.ts"

const OPENERS: { readonly [platform: string]: readonly [command: string, ...args: ReadonlyArray<string>] } = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""]
}

export const openBrowser = Effect.fnUntraced(function* (url: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const invocation = yield* Invocation
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"]
  yield* Effect.gen(function* () {
    const directory = yield* fs.makeTempDirectoryScoped({ prefix: "pi-sessions-view-" })
    const file = path.join(directory, "open.html")
    const html = `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}">\n`
    yield* fs.writeFileString(file, html, { mode: 0o600 })
    const handle = yield* ChildProcess.make(command, [...args, file], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore"
    })
    if ((yield* handle.exitCode) !== 0) return yield* Effect.fail("the program failed")
    // The browser needs time to read the file.
    yield* Effect.sleep("30 seconds")
  }).pipe(
    Effect.scoped,
    Effect.catch(() => invocation.note(`note: no browser could be opened with ${command}; open the address yourself`)),
    Effect.forkScoped
  )
})
