/** Many sessions mirrored to each faulty server. */
import "./MirrorMisbehaving.test.ts"
