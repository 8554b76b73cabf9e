/** Outlines of many generated sessions. */
import "./SessionOutline.test.ts"
