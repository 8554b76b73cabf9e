/** Limits on what the viewer reads, and on the size of its answers. The page uses this module too. */

/** Samples and findings of the doctor need the whole session in memory; larger sessions have neither. In bytes. */
export const WHOLE_BYTES = 64 << 20

export const TOO_LARGE = `larger than ${WHOLE_BYTES >> 20} MiB, so it is not read whole here; the commands show --as and doctor do`

/** Entries, rows of a tree, sessions or lines in one answer. */
export const MOST_AT_ONCE = 500

/** Places in the answer to a search. */
export const MOST_HITS = 100

/** Characters before and after a hit. */
export const AROUND_HIT = 80
