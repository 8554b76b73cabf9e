/**
 * Whose session is it? Gathers the evidence of `GasTown.detect` from a session's opening: the lines up to the third user
 * message, since the beacon stands in the first ones and the prime before them. So the role of a large session is
 * known from its first bytes.
 */
import * as GasTown from "@pi-sessions/core/GasTown"
import { PRIME_CUSTOM_TYPE } from "@pi-sessions/core/gasTown/GasTownBeacon"
import { type Identity } from "@pi-sessions/core/gasTown/GasTownPath"
import { type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"

const USER_TEXTS = 3

/** What a session's first lines say of its agent, as far as they have been pushed. Any version of the format. */
export class Opening {
  #header: HeaderLine | undefined
  readonly #userTexts: Array<string> = []
  readonly #primeTexts: Array<string> = []

  /** Undefined while no line was one: a file that ends without a header is no session. */
  get header(): HeaderLine | undefined {
    return this.#header
  }

  get firstUserTexts(): ReadonlyArray<string> {
    return this.#userTexts
  }

  get primeTexts(): ReadonlyArray<string> {
    return this.#primeTexts
  }

  /** Whether further lines would tell nothing more. */
  get complete(): boolean {
    return this.#header !== undefined && this.#userTexts.length === USER_TEXTS
  }

  /** Takes the next line of the file. */
  push(line: SessionLine): void {
    if (line instanceof HeaderLine) this.#header ??= line
    else if (line instanceof SessionEntry && this.#userTexts.length < USER_TEXTS) this.#entry(line)
  }

  #entry(entry: SessionEntry): void {
    if (entry.role === "user") {
      this.#userTexts.push(ModelContext.contentText(objectAt(entry.decode(), "message")?.["content"]))
      return
    }
    const custom = customMessage(entry)
    if (custom !== undefined && stringAt(custom, "customType") === PRIME_CUSTOM_TYPE) {
      this.#primeTexts.push(ModelContext.contentText(custom["content"]))
    }
  }
}

/** What holds `customType` and `content`: the entry, or up to version 2 its message. */
const customMessage = (entry: SessionEntry): JsonObject | undefined => {
  if (entry.type === "custom_message") return entry.decode()
  return entry.role === "custom" || entry.role === "hookMessage" ? objectAt(entry.decode(), "message") : undefined
}

/** Reads the opening from lines in file order and looks no further than it must. */
export const openingOf = (lines: Iterable<SessionLine>): Opening => {
  const opening = new Opening()
  for (const line of lines) {
    opening.push(line)
    if (opening.complete) break
  }
  return opening
}

export interface RoleOptions {
  /** The session file; the name of its directory is evidence. */
  readonly path?: string
  /** The town's root directory. */
  readonly town?: string
  /** What the person says. */
  readonly override?: Identity
}

/** The agent of the session that an opening belongs to. */
export const detect = (opening: Opening, { override, path, town }: RoleOptions = {}): GasTown.RoleDetection => {
  const header = opening.header?.decode()
  const cwd = header === undefined ? undefined : stringAt(header, "cwd")
  const directory = path?.split(/[/\\]/u).at(-2)
  return GasTown.detect({
    firstUserTexts: opening.firstUserTexts,
    primeTexts: opening.primeTexts,
    ...(cwd === undefined ? {} : { cwd }),
    ...(directory === undefined ? {} : { sessionDirName: directory }),
    ...(override === undefined ? {} : { override }),
    ...(town === undefined ? {} : { town })
  })
}
