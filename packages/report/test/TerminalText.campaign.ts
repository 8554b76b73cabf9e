/** The width of every code point. */
import "./TerminalText.test.ts"
