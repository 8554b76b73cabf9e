/** What commands print about places that were searched for sessions. */
import * as Effect from "effect/Effect"
import { type Catalog } from "@pi-sessions/catalog/SessionCatalog"
import { Invocation } from "../Invocation.ts"

/** `searched DIR, DIR`, or that there is no directory. */
export const searched = ({ missing, roots }: Pick<Catalog, "missing" | "roots">): string =>
  roots.length === 0
    ? `there is no directory of sessions (${missing.map(({ path }) => path).join(", ")})`
    : `searched ${roots.map(({ path }) => path).join(", ")}`

/** That files are not sessions; "" without such files. */
export const others = ({ others }: Pick<Catalog, "others">): string => {
  const files = others.length === 1 ? "1 file is no session" : `${others.length} files are no sessions`
  return others.length === 0 ? "" : `${files} or could not be read; pi-sessions list --others names them`
}

/** Prints `others` as a note. */
export const noteOthers = Effect.fnUntraced(function* (catalog: Pick<Catalog, "others">) {
  const { note } = yield* Invocation
  const text = others(catalog)
  if (text !== "") yield* note(`note: ${text}`)
})
