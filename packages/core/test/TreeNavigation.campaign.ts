/** Moves in many walks, beside both real Pis. */
import "./TreeNavigation.test.ts"
