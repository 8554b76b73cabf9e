/** Every command over many sessions, threads and stores with wrong fields and damage. */
import "./WrongFields.test.ts"
