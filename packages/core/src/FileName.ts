/** The last part of a path, with the separators of any system. */
export const nameOf = (path: string): string => path.split(/[/\\]/u).at(-1) ?? path
