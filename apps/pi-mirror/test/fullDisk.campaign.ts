/** A full disk under the mirror, with every Pi version. */
import "./fullDisk.test.ts"
