/** Validates with the contract document on disk and ajv (JSON Schema draft 2020-12). */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Ajv2020 } from "ajv/dist/2020.js"

export const file = Path.resolve(import.meta.dirname, "../../../../docs/schema/session_store_v2_contract.json")

export const document: { readonly $id: string; readonly $defs: { readonly [name: string]: object } } = JSON.parse(
  Fs.readFileSync(file, "utf8")
)

// Strict: an unknown keyword is an error, except for the document's own two.
const ajv = new Ajv2020({ strict: true, allErrors: true })
ajv.addVocabulary(["x-transitions", "x-invariants"])
const bundle = ajv.compile(document)

/** Problems of a bundle; empty when it is valid. */
export const errorsOf = (value: unknown): ReadonlyArray<string> =>
  bundle(value) ? [] : (bundle.errors ?? []).map((error) => `${error.instancePath}: ${error.message}`)

const records = new Map(
  Object.keys(document.$defs).map((name) => [name, ajv.compile({ $ref: `${document.$id}#/$defs/${name}` })])
)

/** Whether a record is valid by itself. */
export const isValid = (name: string, value: unknown): boolean => records.get(name)?.(value) === true
