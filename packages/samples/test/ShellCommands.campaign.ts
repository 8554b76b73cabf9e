/** More random shell lines, run by bash. */
import "./ShellCommands.test.ts"
