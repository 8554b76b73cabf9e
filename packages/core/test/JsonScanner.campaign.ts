/** Many generated documents and long strings, beside JSON.parse. */
import "./JsonScanner.test.ts"
