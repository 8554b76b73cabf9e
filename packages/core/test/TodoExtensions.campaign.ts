/** The todo lists after one more start of Pi. */
import "./TodoExtensions.test.ts"
