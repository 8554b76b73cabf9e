import type { CatalogSession } from "../CatalogSession.ts"

/** Sessions that were forked from one another, each after the one it was forked from. */
export type ForkFamily = ReadonlyArray<CatalogSession>

/** Pi names a file `<time>_<session id>.jsonl`. */
const idInName = (path: string): string | undefined => /_([^/\\_]+)\.jsonl$/.exec(path)?.[1]

/**
 * The family of each session that has one. A fork names the file it was made from by path; where that file was moved, or
 * became a container, it is known by the id in its name.
 */
export const forkFamilies = (sessions: ReadonlyArray<CatalogSession>): ReadonlyMap<CatalogSession, ForkFamily> => {
  const byPath = new Map(sessions.map((session) => [session.path, session]))
  const byId = new Map(sessions.map((session) => [session.id, session]))
  const parentOf = ({ parentSession }: CatalogSession): CatalogSession | undefined => {
    if (parentSession === undefined) return undefined
    return byPath.get(parentSession) ?? byId.get(idInName(parentSession) ?? "")
  }

  /** The first of each family's line, and how far a session is from it. Headers may name each other in a circle. */
  const lineOf = (session: CatalogSession): { readonly root: string; readonly depth: number } => {
    const seen = new Set<CatalogSession>()
    let at = session
    for (let parent = parentOf(at); parent !== undefined && !seen.has(parent); parent = parentOf(at)) {
      seen.add(at)
      at = parent
    }
    // Forks of a session that is not here belong together too.
    let root = at.parentSession ?? at.path
    if (parentOf(at) !== undefined) {
      const circle = [at.path]
      for (let next = parentOf(at); next !== undefined && next !== at; next = parentOf(next)) circle.push(next.path)
      root = circle.sort()[0] ?? root
    }
    return { root, depth: seen.size }
  }

  const families = new Map<string, Array<{ readonly session: CatalogSession; readonly depth: number }>>()
  for (const session of sessions) {
    const { depth, root } = lineOf(session)
    const family = families.get(root)
    if (family === undefined) families.set(root, [{ session, depth }])
    else family.push({ session, depth })
  }
  const found = new Map<CatalogSession, ForkFamily>()
  for (const family of families.values()) {
    if (family.length === 1) continue
    const inOrder = family
      .sort((a, b) => a.depth - b.depth || (a.session.path < b.session.path ? -1 : 1))
      .map(({ session }) => session)
    for (const session of inOrder) found.set(session, inOrder)
  }
  return found
}
