/** A name in quotation marks, as it reads. */
export const quoted = (name: string): string => `"${name}"`
