/** Format `pi` over many walks of both real Pis. */
import "./PiFormat.test.ts"
