/** Format `tokens` over many walks of both real Pis. */
import "./TokensFormat.test.ts"
