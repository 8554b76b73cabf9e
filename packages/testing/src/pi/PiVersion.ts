/**
 * The two real Pis that tests run against, and where their packages are installed.
 *
 * Paths are real paths, not pnpm's links: Pi resolves its own dependencies from its real folder.
 */
import * as Fs from "node:fs"
import * as Module from "node:module"
import * as Path from "node:path"

/** A supported Pi, by the part of its version that names it: 0.78.0 or 1.5.2. */
export type PiVersion = "0.78" | "1.5"

/** Every supported Pi, oldest first. */
export const versions: ReadonlyArray<PiVersion> = ["0.78", "1.5"]

// Of 1.5 only the bundle runs: some of the packages its unbundled files import are not in every registry.
const entryPoints: Record<PiVersion, { readonly cli: string; readonly index: string }> = {
  "0.78": { cli: "dist/cli.js", index: "dist/index.js" },
  "1.5": { cli: "dist/bundle/cli.js", index: "dist/bundle/index.js" }
}

/** The folder of the installed package. Throws when the package is not installed. */
export const packageDir = (version: PiVersion): string => {
  const manifest = Module.findPackageJSON(`pi-${version}`, import.meta.url)
  if (manifest === undefined) throw new Error(`Pi ${version} is not installed`)
  return Path.dirname(Fs.realpathSync(manifest))
}

/** The file to give to `node` to start Pi's command line. */
export const cliPath = (version: PiVersion): string => Path.join(packageDir(version), entryPoints[version].cli)

/** The file to import for Pi's library: `SessionManager` and others. */
export const indexPath = (version: PiVersion): string => Path.join(packageDir(version), entryPoints[version].index)
