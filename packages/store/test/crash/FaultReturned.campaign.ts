/** Every fault at every call of every program, and disks of 150 sizes. */
import "./FaultReturned.test.ts"
