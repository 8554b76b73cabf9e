/** Texts of a megabyte that begin rules over and over. */
import "./RedactionRules.test.ts"
