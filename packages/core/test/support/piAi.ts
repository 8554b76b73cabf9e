/**
 * Functions of the real pi-ai packages that turn messages into requests. 0.78 has them in a file of a package of its
 * own; of 1.5 only the bundle runs, so that the chunk that exports a function is found by the function's name.
 */
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Url from "node:url"
import { type Json, type JsonObject } from "../../src/Json.ts"

/** A model of pi-ai. */
export interface Model {
  readonly provider: string
  readonly api: string
  readonly id: string
  readonly input: ReadonlyArray<"text" | "image">
}

type Messages = ReadonlyArray<JsonObject>
type TransformMessages = (messages: Messages, model: Model) => Messages

const isFunction = <F>(value: unknown): value is F => typeof value === "function"

const functionFrom = async <F>(file: string, name: string): Promise<F> => {
  const exports: unknown = await import(/* @vite-ignore */ Url.pathToFileURL(file).href)
  const found: unknown = typeof exports === "object" && exports !== null ? Reflect.get(exports, name) : undefined
  if (!isFunction<F>(found)) throw new Error(`${file} does not export ${name}`)
  return found
}

/** The chunk of the 1.5 bundle that exports `name`. */
const chunkWith = (name: string): string => {
  const dir = Path.join(PiVersion.packageDir("1.5"), "dist", "bundle", "chunks")
  const exported = new RegExp(`export\\{(?:[^}]*,)?${name}[,}]`, "u")
  const chunk = Fs.readdirSync(dir)
    .filter((file) => file.endsWith(".js"))
    .find((file) => exported.test(Fs.readFileSync(Path.join(dir, file), "utf8")))
  if (chunk === undefined) throw new Error(`no chunk of Pi 1.5 exports ${name}`)
  return Path.join(dir, chunk)
}

/** pi-ai's `transformMessages`. */
export const transformMessages = (version: PiVersion.PiVersion): Promise<TransformMessages> =>
  functionFrom(
    version === "0.78"
      ? Path.join(PiVersion.packageDir("0.78"), "..", "pi-ai", "dist", "providers", "transform-messages.js")
      : chunkWith("transformMessages"),
    "transformMessages"
  )

/** pi-ai's `getCurrentSystemPrompt`, which only 1.5 has. */
export const systemPrompt = (): Promise<(messages: Messages) => string> =>
  functionFrom(chunkWith("getCurrentSystemPrompt"), "getCurrentSystemPrompt")

/** pi-ai's `getCurrentTools`, which only 1.5 has. */
export const tools = (): Promise<(messages: Messages) => ReadonlyArray<Json>> =>
  functionFrom(chunkWith("getCurrentTools"), "getCurrentTools")
