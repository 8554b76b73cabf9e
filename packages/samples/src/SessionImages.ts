/** The images of a session as files beside its samples. */
import { createHash } from "node:crypto"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { imageKind } from "./ImageKind.ts"

/** Stands in the text where an image stood. */
export const IMAGE = "[image]"

/** The same where there is no file for it, and for a text that says `[image]` itself, so that marks and files pair up. */
export const NO_IMAGE = "[ image ]"

/** Within the dataset's directory. */
const DIRECTORY = "images"
const NAME_DIGITS = 32

/** Names of image files, as lines hold them. */
export const IMAGE_NAME = new RegExp(`^${DIRECTORY}/[\\da-f]{${NAME_DIGITS}}\\.[a-z]{3,4}$`, "u")

const nameOf = (bytes: Uint8Array, kind: string): string =>
  `${DIRECTORY}/${createHash("sha256").update(bytes).digest("hex").slice(0, NAME_DIGITS)}.${kind}`

/** Whether these are the bytes of the image that the name stands for. */
export const isImageOf = (name: string, bytes: Uint8Array): boolean =>
  name === nameOf(bytes, name.slice(name.lastIndexOf(".") + 1))

/** Collects the images that samples show. */
export class SessionImages {
  readonly #budget: SessionBudget | undefined
  readonly #names = new Map<string, string>()
  readonly #files = new Map<string, Uint8Array>()

  constructor(budget?: SessionBudget) {
    this.#budget = budget
  }

  /** The name of a block's file; undefined where it holds no image of a kind that models take. */
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

  /** The bytes of an image that was taken. */
  bytesOf(name: string): Uint8Array | undefined {
    return this.#files.get(name)
  }
}
