/** Incremental runs over many rounds of changes, and more numbers of shards. */
import "./DatasetRuns.test.ts"
