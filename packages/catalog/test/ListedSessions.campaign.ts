/** Migrates many sessions of both real Pis, all fixtures and the corpus, unchanged and mutated. */
import "./ListedSessions.test.ts"
