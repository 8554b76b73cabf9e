/** Contexts of more random walks. */
import "./SentContexts.test.ts"
