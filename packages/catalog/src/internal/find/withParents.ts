/** Finds the present paths of forks' parents: through links, and in containers that replaced files. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { type CatalogSession } from "../../CatalogSession.ts"
import { FileSurvey } from "../../FileSurvey.ts"

/** By path of a container: the files that it replaced. */
type Superseded = ReadonlyMap<string, ReadonlyArray<string>>

/** Adds `parentPath` to sessions whose `parentSession` is another path of a listed session. */
export const withParents = Effect.fnUntraced(function* (
  sessions: ReadonlyArray<CatalogSession>,
  superseded: Superseded
): Effect.fn.Return<ReadonlyArray<CatalogSession>, never, FileSurvey | Path.Path> {
  if (!sessions.some(({ parentSession }) => parentSession !== undefined)) return sessions
  const found = new Set(sessions.map((session) => session.path))
  const isElsewhere = ({ parentSession }: CatalogSession) => parentSession !== undefined && !found.has(parentSession)
  const forks = sessions.filter(isElsewhere)
  if (forks.length === 0) return sessions

  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const parents = [...new Set(forks.flatMap(({ parentSession }) => parentSession ?? []))]
  const files = [...superseded].flatMap(([container, paths]) => paths.map((file) => ({ file, container })))
  const places = [...found, ...parents, ...files.map(({ file }) => file)]
  const directories = [...new Set(places.map((at) => path.dirname(at)))]
  const reals = yield* survey.realPaths(directories)
  const realOf = new Map(directories.map((directory, at) => [directory, reals[at]]))
  /** Resolves links in the directory only: the file itself may be missing or a link. */
  const placed = (at: string): string => {
    const directory = realOf.get(path.dirname(at))
    return typeof directory === "string" ? path.join(directory, path.basename(at)) : at
  }
  const known = new Map([...found].map((at) => [placed(at), at]))
  for (const { file, container } of files) if (found.has(container)) known.set(placed(file), container)
  const targets = yield* survey.realPaths(parents)
  const parentPaths = new Map(
    parents.map((parent, at) => {
      const target = targets[at]
      return [parent, known.get(placed(parent)) ?? (typeof target === "string" ? known.get(target) : undefined)]
    })
  )
  return sessions.map((session) => {
    const parentPath = isElsewhere(session) ? parentPaths.get(session.parentSession ?? "") : undefined
    return parentPath === undefined ? session : { ...session, parentPath }
  })
})
