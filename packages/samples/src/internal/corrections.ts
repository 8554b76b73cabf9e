/**
 * Detects user messages that reject what the agent said or did. English only, by the beginning of the message. It prefers
 * to miss some: "no problem" is not a rejection, and neither is "no" after a question of the agent.
 */

/** Beginnings of rejections, in lower case. */
const REJECTIONS: ReadonlyArray<RegExp> = [
  // "no, ..." and "no" alone; not "no problem" or a polite end such as "no, thanks".
  /^(?:no|nope|nah)(?:[.!]*$|\s*[,.;:!\u2014-](?!\s*(?:thanks|thank you|that(?:'s| is) (?:all|it|fine)|nothing|go ahead)\b))/u,
  /^no,? (?:don't|do not|stop|that's|that is|this is|it's|you|i (?:said|meant|asked|wanted))\b(?! (?:all|it|fine)\b)/u,
  /^(?:that's|thats|that is|this is|it's|you're|you are) (?:all |completely |still )?(?:wrong|incorrect|broken)\b/u,
  /^(?:that's|thats|that is|this is|it's) not (?:right|correct|it|true|what|how|the)\b/u,
  /^(?:wrong|incorrect|not what i|not like that)\b/u,
  /^(?:wait|hold on|actually),? (?:no|stop|don't|that's wrong)\b/u,
  /^stop(?:[\s.!]*$|\s*[,;:\u2014-]|\s+(?:it|that|this|now|there|right there|\w+ing)\b)/u,
  /^(?:please )?(?:don't|do not) (?!worry\b|forget\b|hesitate\b|we\b|you\b|they\b|i\b)/u,
  /^(?:please )?(?:undo|revert|roll ?back|put (?:it|that|this) back)\b/u,
  /^you (?:broke|misunderstood|misread|forgot|ignored|deleted the wrong|shouldn't have|should not have)\b/u,
  /^i (?:said|told you|asked you|didn't ask|did not ask|didn't want|did not want)\b/u,
  /^(?:that|this|it) (?:didn't|did not|doesn't|does not|still doesn't|still does not) work\b/u
]

/** Only the first so many UTF-16 units of a message count. */
export const OPENING_UNITS = 200

/** `said` returns the agent's message before it. */
export const isCorrection = (text: string, said: () => string): boolean => {
  const opening = text
    .slice(0, OPENING_UNITS)
    .replaceAll("\u2019", "'")
    .toLowerCase()
    .replace(/^[\s"'*_>]+/u, "")
  const first = opening.split("\n", 1)[0] ?? ""
  return REJECTIONS.some((rejection) => rejection.test(first)) && !/\?["'*_)\s]*$/u.test(said())
}
