/** The version of this program. */
import manifest from "../package.json" with { type: "json" }

export const VERSION: string = manifest.version
