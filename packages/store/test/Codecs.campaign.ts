/** Thousands of random records of each kind. */
import "./Codecs.test.ts"
