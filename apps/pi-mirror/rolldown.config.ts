/** Bundles the extension into one file. */
import { defineConfig } from "rolldown"

export default defineConfig({
  input: "src/extension.ts",
  platform: "node",
  // Pi parses an extension with a slow parser before it runs it: the less text the better.
  output: { file: "dist/extension.js", format: "esm", minify: true, codeSplitting: false }
})
