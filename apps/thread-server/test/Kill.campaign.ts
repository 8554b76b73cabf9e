/** Many kills of the server during POSTs. */
import "./Kill.test.ts"
