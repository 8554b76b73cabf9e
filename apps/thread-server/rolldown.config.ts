/** Bundles the server. */
import { defineConfig } from "rolldown"

export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  output: { dir: "dist", format: "esm", sourcemap: true, entryFileNames: "main.js" }
})
