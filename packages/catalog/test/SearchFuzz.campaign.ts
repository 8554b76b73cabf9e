/** Compares many searches with a naive search. */
import "./SearchFuzz.test.ts"
