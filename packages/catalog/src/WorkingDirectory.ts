/** Compares paths of any operating system, as headers contain them: both `/` and `\` are separators. */

/** Whether `cwd` is `directory` or lies below it. */
export const isWithin = (cwd: string, directory: string): boolean => {
  const root = directory.replace(/[/\\]+$/, "")
  return cwd === directory || cwd === root || (cwd.startsWith(root) && /^[/\\]/.test(cwd.slice(root.length)))
}
