/** Recognizes links to Pi's credentials by the names of their targets, without touching the last target. */
import { nameOf } from "@pi-sessions/core/FileName"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"

/** Reason in the list of other files. */
export const REASON = "a link to Pi's credentials, which are not read"

/** The number of links that Linux follows. */
export const LINKS_MAX = 40

/** Whether a path has the name of the credentials file. Ignores case, as some file systems do. */
export const isCredentials = (path: string): boolean => nameOf(path).toLowerCase() === PiEnvironment.CREDENTIALS
