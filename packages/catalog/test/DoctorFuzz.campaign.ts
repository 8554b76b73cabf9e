/** Damages many sessions of both real Pis. */
import "./DoctorFuzz.test.ts"
