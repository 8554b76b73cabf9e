/** Detects where words begin in texts that may be escaped. */

const ESCAPE = /(?:\\[nrtbf]|\\u[\da-f]{4}|\\x[\da-f]{2}|\\0\d\d|%[\da-f]{2}|\[[\d;]{0,8}m)$/iu
const LONGEST_ESCAPE = 10

/** Whether a word may begin at `at`. An escape before it, such as `\n`, ends with a letter but is a border. */
export const isBorder = (text: string, at: number): boolean => {
  if (at === 0) return true
  const code = text.charCodeAt(at - 1)
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57)
  return !isLetter || ESCAPE.test(text.slice(Math.max(0, at - LONGEST_ESCAPE), at))
}
