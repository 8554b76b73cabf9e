/** Adds up the counts that the test runners wrote, and prints them as the last line of a CI run. Runs on Node 20. */
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"

const packages = ["packages", "apps"].flatMap((group) => readdirSync(group).map((name) => join(group, name)))
let [passed, failed, skipped] = [0, 0, 0]
for (const folder of packages.map((name) => join(name, ".test-results")).filter((folder) => existsSync(folder))) {
  for (const file of readdirSync(folder)) {
    const counts = JSON.parse(readFileSync(join(folder, file), "utf8"))
    // A test file that cannot be loaded counts as one failed test.
    const broken = counts.testResults.filter((one) => one.status === "failed" && one.assertionResults.length === 0)
    passed += counts.numPassedTests
    failed += counts.numFailedTests + broken.length
    skipped += counts.numPendingTests + counts.numTodoTests
  }
}
if (skipped > 0) console.log(`${skipped} skipped; each prints its reason`)
console.log(`${passed} passed, ${failed} failed`)
