/** A flipped bit in every byte of a store, and every file truncated at every length. */
import "./DamagedStore.test.ts"
