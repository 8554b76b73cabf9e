/** Working directories as headers name them: they may be of another system, so both separators count. */

/** Whether a working directory is another or lies below it. */
export const isWithin = (cwd: string, directory: string): boolean => {
  const root = directory.replace(/[/\\]+$/, "")
  return cwd === directory || cwd === root || (cwd.startsWith(root) && /^[/\\]/.test(cwd.slice(root.length)))
}
