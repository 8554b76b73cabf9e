/** Every variant of every fixture, many walks of both Pis, the whole corpus, and 100,000 entries. */
import "./StoreMigration.test.ts"
