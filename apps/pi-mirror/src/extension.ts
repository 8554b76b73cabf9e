/** The Pi extension: mirrors Pi's sessions into threads. Without settings it does nothing (README). */
import { FILE_EVENTS, type PiApi } from "./PiApi.ts"
import { type PiMirror, start } from "./PiMirror.ts"

/** Runs `work` and ignores errors, because Pi shows errors of handlers to the user. */
const quietly = <A>(work: () => A): A | undefined => {
  try {
    return work()
  } catch {
    // Missed lines are read from the session file later.
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
