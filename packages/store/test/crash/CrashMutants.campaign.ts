/** Every mutant of the store that the crash tests must catch. */
import "./CrashMutants.test.ts"
