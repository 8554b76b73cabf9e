/**
 * Pi extension: mirrors the session it runs in into a thread. `pi install` this package, or `pi -e dist/extension.js`.
 * Without settings it does nothing. See the README.
 */
import { FILE_EVENTS, type PiApi } from "./PiApi.ts"
import { type PiMirror, start } from "./PiMirror.ts"

/** Pi shows what a handler throws to the user; whatever goes wrong here is no concern of the conversation. */
const quietly = <A>(work: () => A): A | undefined => {
  try {
    return work()
  } catch {
    // The session file keeps what was missed.
    return undefined
  }
}

export default (pi: PiApi): void => {
  let mirror: PiMirror | undefined

  pi.on("session_start", async (event, context) => {
    const before = mirror
    mirror = undefined
    await before?.close()
    mirror = quietly(() => start(pi, event, context))
    await mirror?.opened
  })
  for (const event of FILE_EVENTS) pi.on(event, () => quietly(() => mirror?.poke()))
  pi.on("message_update", (event) => quietly(() => mirror?.update(event)))
  pi.on("before_provider_request", (_event, context) => quietly(() => mirror?.request(context)))
  pi.on("session_shutdown", async () => {
    const ending = mirror
    mirror = undefined
    await ending?.close()
  })
}
