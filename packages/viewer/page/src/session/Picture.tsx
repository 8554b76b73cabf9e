/** A picture of an entry. */
import { type JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import { RASTER_TYPES } from "../../../src/RasterTypes.ts"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { usePage } from "../Page.tsx"
import { Text, sizeOf } from "../parts/Text.tsx"

export interface PicturePlace {
  readonly sessionKey: string
  readonly entry: number
}

/** Larger pictures are fetched after a click. */
const AT_ONCE_BYTES = 1 << 20

export const Picture = (
  props: PicturePlace & { readonly part: Extract<ViewModel.EntryPart, { readonly part: "image" }> }
): JSX.Element => {
  const { answers } = usePage()
  const { entry, part, sessionKey } = props
  const { mimeType, picture, sizeBytes } = part
  const [isWanted, setWanted] = useState(sizeBytes <= AT_ONCE_BYTES)
  const [shown, setShown] = useState<ViewModel.Picture | "none" | undefined>(undefined)
  const [isLarge, setLarge] = useState(false)
  useEffect(() => {
    if (!isWanted || picture === null) return
    answers.get(ViewQuestion.picture(sessionKey, entry, picture)).then(setShown, () => setShown("none"))
  }, [isWanted, sessionKey, entry, picture])
  const what = `picture, ${mimeType === "" ? "of no type" : mimeType}, ${sizeOf(sizeBytes)}`
  if (picture === null || shown === "none" || (shown !== undefined && !RASTER_TYPES.has(shown.mimeType))) {
    return (
      <p class="quiet">
        <Text value={`${what}; not shown`} />
      </p>
    )
  }
  if (shown === undefined) {
    return (
      <button type="button" onClick={() => setWanted(true)}>
        <Text value={what} />
      </button>
    )
  }
  return (
    <button
      type="button"
      class={`picture ${isLarge ? "large" : ""}`}
      onClick={() => setLarge(!isLarge)}
      aria-label={what}
    >
      <img src={`data:${shown.mimeType};base64,${shown.data}`} alt="" />
    </button>
  )
}
