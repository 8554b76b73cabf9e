/** Verification beside a writer that appends 10,000 entries. */
import "./StoreVerify.test.ts"
