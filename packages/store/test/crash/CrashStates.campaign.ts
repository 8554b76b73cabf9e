/** Power cuts at every call of programs that write a store, and of thousands of random programs. */
import "./CrashStates.test.ts"
