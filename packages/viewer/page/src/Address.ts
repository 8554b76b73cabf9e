/** Places of the page, and their fragments in the URL. */

export type View = "talk" | "samples" | "health"

export type Place =
  | { readonly page: "sessions"; readonly search: string }
  | {
      readonly page: "session"
      readonly key: string
      readonly view: View
      /** End of the branch. Default: the active branch. */
      readonly leaf: number | undefined
      /** The selected entry. */
      readonly at: number | undefined
    }
  | { readonly page: "dataset" }
  | { readonly page: "health" }

const VIEWS: ReadonlySet<string> = new Set(["talk", "samples", "health"])
const isView = (name: string | null): name is View => name !== null && VIEWS.has(name)

const count = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/u.test(text) ? Number(text) : undefined

/** The place of a fragment; undefined if it names none. */
export const read = (hash: string): Place | undefined => {
  const [path = "", query = ""] = hash.replace(/^#\/?/u, "").split("?")
  const given = new URLSearchParams(query)
  const [page, key] = path.split("/")
  if (page === "dataset" || page === "health") return { page }
  if (page === "sessions") return { page, search: given.get("search") ?? "" }
  if (page !== "session" || key === undefined || !/^[\da-f]{16}$/u.test(key)) return undefined
  const view = given.get("view")
  return { page, key, view: isView(view) ? view : "talk", leaf: count(given.get("leaf")), at: count(given.get("at")) }
}

export const format = (place: Place): string => {
  const query = new URLSearchParams()
  if (place.page === "sessions" && place.search !== "") query.set("search", place.search)
  if (place.page === "session") {
    if (place.view !== "talk") query.set("view", place.view)
    if (place.leaf !== undefined) query.set("leaf", String(place.leaf))
    if (place.at !== undefined) query.set("at", String(place.at))
  }
  const path = place.page === "session" ? `session/${place.key}` : place.page
  return `#/${path}${query.size === 0 ? "" : `?${query}`}`
}

/** The list without a search. */
export const sessions: Place = { page: "sessions", search: "" }

/** A session. Default: the conversation on the active branch. */
export const session = (
  key: string,
  more: { readonly view?: View; readonly at?: number; readonly leaf?: number } = {}
): Place => ({
  page: "session",
  key,
  view: more.view ?? "talk",
  leaf: more.leaf,
  at: more.at
})
