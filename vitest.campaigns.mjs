/** Campaigns: long runs of crashes, kills, fuzz and large files. PI_SESSIONS_BUDGET=0.1 runs a tenth of each. */
import config from "./vitest.config.mjs"

export default {
  test: {
    ...config.test,
    include: ["test/**/*.campaign.ts"],
    passWithNoTests: true,
    testTimeout: 7_200_000,
    env: { PI_SESSIONS_CAMPAIGNS: "1" },
    outputFile: { json: ".test-results/campaigns.json" }
  }
}
