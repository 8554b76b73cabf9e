/** Every way to choose the session directory, in running Pis of both versions. */
import "./SessionPath.test.ts"
