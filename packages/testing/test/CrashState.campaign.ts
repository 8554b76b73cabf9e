/** Disks after a power cut in many more random programs. */
import "./CrashState.test.ts"
