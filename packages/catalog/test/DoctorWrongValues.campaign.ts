/** Tries thousands of wrong values with both real Pis, and all without a Pi. */
import "./DoctorWrongValues.test.ts"
