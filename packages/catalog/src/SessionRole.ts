/**
 * Finds the Gas Town role of a session from its opening: the lines up to the third user message. They contain the
 * beacon and the prime, so a large session need not be read whole (docs/gas-town-roles.md).
 */
import * as GasTown from "@pi-sessions/core/GasTown"
import { PRIME_CUSTOM_TYPE } from "@pi-sessions/core/gasTown/GasTownBeacon"
import { type Identity } from "@pi-sessions/core/gasTown/GasTownPath"
import { type JsonObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { HeaderLine, SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"

const USER_TEXTS = 3

/** Collects evidence of the role from a session's first lines, of any format version. */
export class Opening {
  #header: HeaderLine | undefined
  readonly #userTexts: Array<string> = []
  readonly #primeTexts: Array<string> = []

  /** Undefined until a header was pushed. */
  get header(): HeaderLine | undefined {
    return this.#header
  }

  get firstUserTexts(): ReadonlyArray<string> {
    return this.#userTexts
  }

  get primeTexts(): ReadonlyArray<string> {
    return this.#primeTexts
  }

  /** Whether further lines cannot change the result. */
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

/** The object with `customType` and `content`: the entry, or in versions 1 and 2 its message. */
const customMessage = (entry: SessionEntry): JsonObject | undefined => {
  if (entry.type === "custom_message") return entry.decode()
  return entry.role === "custom" || entry.role === "hookMessage" ? objectAt(entry.decode(), "message") : undefined
}

/** Takes lines in file order until the opening is complete. */
export const openingOf = (lines: Iterable<SessionLine>): Opening => {
  const opening = new Opening()
  for (const line of lines) {
    opening.push(line)
    if (opening.complete) break
  }
  return opening
}

export interface RoleOptions {
  /** The session file. Its directory's name is evidence. */
  readonly path?: string
  /** The town's root directory. */
  readonly town?: string
  /** Replaces the detected identity. */
  readonly override?: Identity
}

/** The role and address of the agent whose session has this opening. */
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
