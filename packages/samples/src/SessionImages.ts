/** Collects the images of samples as files of the dataset. */
import { createHash } from "node:crypto"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { imageKind } from "./ImageKind.ts"

/** Replaces an image in texts. */
export const IMAGE = "[image]"

/** Replaces an image without a file, and a literal `[image]`, so that each `[image]` has one file. */
export const NO_IMAGE = "[ image ]"

/** In the dataset's directory. */
const DIRECTORY = "images"
const NAME_DIGITS = 32

/** Matches the paths of image files in dataset lines. */
export const IMAGE_NAME = new RegExp(`^${DIRECTORY}/[\\da-f]{${NAME_DIGITS}}\\.[a-z]{3,4}$`, "u")

const nameOf = (bytes: Uint8Array, kind: string): string =>
  `${DIRECTORY}/${createHash("sha256").update(bytes).digest("hex").slice(0, NAME_DIGITS)}.${kind}`

/** Whether the name, which contains a hash, matches the bytes. */
export const isImageOf = (name: string, bytes: Uint8Array): boolean =>
  name === nameOf(bytes, name.slice(name.lastIndexOf(".") + 1))

export class SessionImages {
  readonly #budget: SessionBudget | undefined
  readonly #names = new Map<string, string>()
  readonly #files = new Map<string, Uint8Array>()

  constructor(budget?: SessionBudget) {
    this.#budget = budget
  }

  /** Adds the image of a content block and returns its path; undefined if it is not an image that models accept. */
  take(block: JsonObject): string | undefined {
    const data = stringAt(block, "data") ?? ""
    this.#budget?.charge("images", data.length)
    const known = this.#names.get(data)
    if (known !== undefined) return known
    const kind = imageKind(data)
    if (kind === undefined) return undefined
    this.#budget?.charge("images", data.length, data.length)
    const bytes = Buffer.from(data, "base64")
    const name = nameOf(bytes, kind)
    this.#names.set(data, name)
    this.#files.set(name, bytes)
    return name
  }

  /** The bytes of an added image. */
  bytesOf(name: string): Uint8Array | undefined {
    return this.#files.get(name)
  }
}
