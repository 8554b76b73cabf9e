/** More planted secrets, tokens and private keys, and more library source code. */
import "./RedactionRecall.test.ts"
