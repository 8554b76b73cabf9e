/** Trees, branches and contexts of many walks, made-up sessions and the corpus, beside both real Pis. */
import "./PiAgreement.test.ts"
