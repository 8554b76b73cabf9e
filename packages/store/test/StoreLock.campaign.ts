/** Fifty kills of a writer, and hundreds of readers beside one. */
import "./StoreLock.test.ts"
