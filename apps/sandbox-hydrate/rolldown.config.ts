/** Bundles the program into one file. */
import { defineConfig } from "rolldown"

export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  output: { file: "dist/sandbox-hydrate.js", format: "esm", codeSplitting: false }
})
