/** Thousands of random threads. */
import "./SemanticHydration.test.ts"
