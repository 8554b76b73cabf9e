/** Samples of more random walks over a budget. */
import "./Overflow.test.ts"
