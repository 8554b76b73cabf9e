/** Lists ten thousand sessions. */
import "./SessionCatalog.test.ts"
