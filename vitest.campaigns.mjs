/** Campaigns: long runs of crashes, kills, fuzz and large files, whose budget comes from the environment. */
import config from "./vitest.config.mjs"

export default {
  test: {
    ...config.test,
    include: ["test/**/*.campaign.ts"],
    passWithNoTests: true,
    outputFile: { json: ".test-results/campaigns.json" }
  }
}
