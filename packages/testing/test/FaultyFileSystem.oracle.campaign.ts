/** The simulated file system against the real one, in many more random programs. */
import "./FaultyFileSystem.oracle.test.ts"
