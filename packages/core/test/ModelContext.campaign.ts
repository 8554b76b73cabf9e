/** Model contexts of many walks, beside pi-ai. */
import "./ModelContext.test.ts"
