/** A hundred rounds of kill -9, and a real disk that is full at many sizes. */
import "./FaultRealDisk.test.ts"
