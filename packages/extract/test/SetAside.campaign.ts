/** Long texts set aside, in many random sessions and walks of both real Pis. */
import "./SetAside.test.ts"
