/** Datasets of many walks of both real Pis. */
import "./Dataset.test.ts"
