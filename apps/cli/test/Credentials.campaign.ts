/** The system calls of every command, for `auth.json`. */
import "./Credentials.test.ts"
