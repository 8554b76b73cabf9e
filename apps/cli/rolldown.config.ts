import { defineConfig } from "rolldown"

export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  output: { dir: "dist", cleanDir: true, format: "esm", sourcemap: true, entryFileNames: "main.js" }
})
