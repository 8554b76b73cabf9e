/** Every family of hostile texts for every reader. */
import "./LinearTime.test.ts"
