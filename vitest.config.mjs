/** Settings of every package's tests. Each run writes its counts to `.test-results`, where `.ci/run` adds them up. */
export default {
  test: {
    include: ["test/**/*.test.ts"],
    // Disks with slow syncs and machines with few cores make some tests long. No test asserts the clock.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // The packages' tests run side by side, so each package uses one process, and loads Effect once.
    isolate: false,
    maxWorkers: 1,
    reporters: ["default", "json"],
    outputFile: { json: ".test-results/test.json" }
  }
}
