/** Every hydrated thread with every Pi version. */
import "./HydrateRealPi.test.ts"
