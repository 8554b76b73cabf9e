/**
 * The page as one HTML document with its script and style, and a Content-Security-Policy that allows nothing else. The
 * script is built from `page/` (`pnpm --filter @pi-sessions/viewer build`).
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"

/** The page is not built, or not in the package. */
export class PageMissing extends Schema.TaggedError<PageMissing>()("PageMissing", {
  looked: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `the page is not built (looked for ${this.looked.join(", ")}); run: pnpm --filter @pi-sessions/viewer build`
  }
}

export interface PageAssets {
  readonly script: string
  readonly style: string
}

/** Beside the bundle, or in this package. */
const PLACES = ["./page/", "../dist/page/"]

/** The built script and style. */
export const assets = Effect.gen(function* (): Effect.fn.Return<
  PageAssets,
  PageMissing,
  FileSystem.FileSystem | Path.Path
> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directories = yield* Effect.forEach(PLACES, (place) => path.fromFileUrl(new URL(place, import.meta.url))).pipe(
    Effect.orDie
  )
  for (const directory of directories) {
    const read = (name: string) => Effect.option(fs.readFileString(path.join(directory, name)))
    const script = yield* read("view.js")
    const style = yield* read("view.css")
    if (script._tag === "Some" && style._tag === "Some") return { script: script.value, style: style.value }
  }
  return yield* new PageMissing({ looked: directories })
})

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The policy: script and style by their hashes, `data:` pictures, and requests to the own server if served. */
export const policy = ({ script, style }: PageAssets, isServed: boolean): string =>
  [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "img-src data:",
    `connect-src ${isServed ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    // Not allowed in a <meta> element.
    ...(isServed ? ["frame-ancestors 'none'"] : []),
    "require-trusted-types-for 'script'",
    "trusted-types 'none'"
  ].join("; ")

/** JSON that cannot end a script element or begin a comment. */
const embedded = (value: unknown): string =>
  JSON.stringify(value).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")

/** The document. With `answers`, by address, it needs no server. */
export const document = (assets: PageAssets, answers?: { readonly [address: string]: unknown }): string => {
  const { script, style } = assets
  const data =
    answers === undefined ? "" : `<script type="application/json" id="answers">${embedded(answers)}</script>\n`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(assets, answers === undefined).replace(/; frame-ancestors [^;]*/u, "")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>pi-sessions</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page is a program: it needs JavaScript.</noscript>
${data}<script>${script}</script>
</body>
</html>
`
}
