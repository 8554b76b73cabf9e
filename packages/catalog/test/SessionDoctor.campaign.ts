/** Examines many sessions of both real Pis. */
import "./SessionDoctor.test.ts"
