/** Links that lead to Pi's credentials: they are told by the names on their way, and nothing at their end is asked. */
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"

/** Why a file is not looked at. */
export const REASON = "a link to Pi's credentials, which are not read"

/** As many links as Linux follows one after another. */
export const MOST_LINKS = 40

/** Whether a path is that of credentials, on systems too that do not tell upper from lower case. */
export const isCredentials = (path: string): boolean =>
  path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1).toLowerCase() === PiEnvironment.CREDENTIALS
