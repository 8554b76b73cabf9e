/** Starts both real Pis as processes for every damaged fixture. */
import "./DoctorRealPi.test.ts"
