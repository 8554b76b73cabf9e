/** The place of the page, and going to another. The place is in the URL's fragment. */
import { useCallback, useEffect, useState } from "preact/hooks"
import type * as ViewModel from "../../src/ViewModel.ts"
import * as Address from "./Address.ts"
import { type Page } from "./Page.tsx"

export const usePlace = (home: ViewModel.Home): readonly [Address.Place, Page["go"]] => {
  const [place, setPlace] = useState(() => here(home))
  useEffect(() => {
    const changed = (): void => setPlace(here(home))
    addEventListener("hashchange", changed)
    return () => removeEventListener("hashchange", changed)
  }, [home])
  const go = useCallback((to: Address.Place, replace = false) => {
    const hash = Address.format(to)
    if (hash === location.hash) return
    if (replace) history.replaceState(null, "", hash)
    else history.pushState(null, "", hash)
    setPlace(to)
  }, [])
  return [place, go]
}

const here = ({ begin }: ViewModel.Home): Address.Place =>
  Address.read(location.hash) ??
  (begin.page === "session"
    ? Address.session(begin.key)
    : begin.page === "dataset"
      ? { page: "dataset" }
      : Address.sessions)
