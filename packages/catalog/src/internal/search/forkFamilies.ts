/** Groups sessions that were forked from one another, so that a search reports shared entries once. */
import { nameOf } from "@pi-sessions/core/FileName"
import type { CatalogSession } from "../../CatalogSession.ts"

/** Sessions that were forked from one another, each after its parent. */
export type ForkFamily = ReadonlyArray<CatalogSession>

/** The session id in the name of a file, `<time>_<session id>.jsonl`, or of a container, `<session id>.v2`. */
const idInName = (path: string): string | undefined => {
  const name = nameOf(path)
  return /^[^_]*_(.+)\.jsonl$/.exec(name)?.[1] ?? /^(.+)\.v2$/.exec(name)?.[1]
}

/** A session's position in its family. */
interface Descent {
  /** Path that identifies the family. */
  readonly root: string
  /** Number of forks from the first session to this one. */
  readonly depth: number
}

/**
 * The family of each session that has one. A fork names its parent by path. If the parent was moved or became a
 * container, it is found by `parentPath`, else by the id in the path.
 */
export const forkFamilies = (sessions: ReadonlyArray<CatalogSession>): ReadonlyMap<CatalogSession, ForkFamily> => {
  const byPath = new Map(sessions.map((session) => [session.path, session]))
  const byId = new Map<string, CatalogSession>()
  for (const session of sessions) if (!byId.has(session.id)) byId.set(session.id, session)
  const parentOf = ({ parentPath, parentSession }: CatalogSession): CatalogSession | undefined =>
    parentSession === undefined
      ? undefined
      : (byPath.get(parentPath ?? parentSession) ?? byId.get(idInName(parentSession) ?? ""))

  const descents = new Map<CatalogSession, Descent>()
  /** Walks up to a session whose descent is known, then down again. Headers may form a cycle. */
  const descentOf = (session: CatalogSession): Descent => {
    const known = descents.get(session)
    if (known !== undefined) return known
    const way: Array<CatalogSession> = []
    const onWay = new Set<CatalogSession>()
    let at: CatalogSession | undefined = session
    while (at !== undefined && !descents.has(at) && !onWay.has(at)) {
      way.push(at)
      onWay.add(at)
      at = parentOf(at)
    }
    let above = at === undefined ? undefined : descents.get(at)
    if (at !== undefined && above === undefined) {
      const circle = way.splice(way.indexOf(at))
      above = { root: circle.map(({ path }) => path).sort()[0] ?? at.path, depth: 0 }
      for (const member of circle) descents.set(member, above)
    }
    for (const member of way.reverse()) {
      // Forks of a missing session are a family too.
      above =
        above === undefined
          ? { root: member.parentPath ?? member.parentSession ?? member.path, depth: 0 }
          : { root: above.root, depth: above.depth + 1 }
      descents.set(member, above)
    }
    return descents.get(session) ?? { root: session.path, depth: 0 }
  }

  const families = new Map<string, Array<{ readonly session: CatalogSession; readonly depth: number }>>()
  for (const session of sessions) {
    const { depth, root } = descentOf(session)
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
