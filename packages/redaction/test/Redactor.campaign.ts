/** More random texts that are redacted twice. */
import "./Redactor.test.ts"
