/** Hydration of 150,000 lines. */
import "./Hydrate.test.ts"
