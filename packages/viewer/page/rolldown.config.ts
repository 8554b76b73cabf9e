/** The page's script and style, for `src/ViewPage.ts` to put into one document. */
import { copyFileSync } from "node:fs"
import { defineConfig } from "rolldown"

const here = import.meta.dirname
const out = `${here}/../dist/page`

export default defineConfig({
  input: `${here}/src/main.tsx`,
  platform: "browser",
  transform: { define: { "process.env.NODE_ENV": '"production"' } },
  plugins: [
    {
      name: "style",
      writeBundle: () => copyFileSync(`${here}/src/view.css`, `${out}/view.css`)
    }
  ],
  output: { dir: out, cleanDir: true, format: "iife", minify: true, entryFileNames: "view.js" }
})
