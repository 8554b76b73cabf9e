import { cpSync } from "node:fs"
import { defineConfig } from "rolldown"

export default defineConfig({
  input: { main: "src/main.ts", extractWorker: "src/extractWorker.ts" },
  platform: "node",
  // The page of `view`, which the viewer package has built.
  plugins: [
    { name: "page", writeBundle: () => cpSync("../../packages/viewer/dist/page", "dist/page", { recursive: true }) }
  ],
  output: { dir: "dist", cleanDir: true, format: "esm", sourcemap: true, entryFileNames: "[name].js" }
})
