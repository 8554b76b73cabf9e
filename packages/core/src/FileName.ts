/** File names in paths of any system. */

/** The last part of a path with `/` or `\` as separators. */
export const nameOf = (path: string): string => path.split(/[/\\]/u).at(-1) ?? path
