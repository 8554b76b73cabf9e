/** Types of pictures that are shown: they cannot contain scripts. Server and page both check them. */
export const RASTER_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"])
