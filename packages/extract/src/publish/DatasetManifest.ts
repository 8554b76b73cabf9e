/**
 * The manifest of a dataset: the hash of every session, the settings and their hash, and the hash of every file. Equal
 * manifests mean datasets with equal bytes.
 */
import { createHash } from "node:crypto"
import { type ExtractOptions } from "../ExtractOptions.ts"
import { type ExtractReport } from "../ExtractReport.ts"
import { nameOf } from "@pi-sessions/core/FileName"

export const MANIFEST_KIND = "pi-sessions/dataset-manifest/1"
export const MANIFEST_FILE = "manifest.json"

/**
 * The options that change what is in a dataset. Of texts, secrets, keys and paths only the hash; names as they are
 * `shown`.
 */
const settingsOf = (options: ExtractOptions, { model, shown = (text) => text }: ManifestOptions) => {
  const {
    given,
    fresh: _fresh,
    ledger: _ledger,
    marks,
    models,
    onProgress: _,
    onUnchanged: _onUnchanged,
    out: _out,
    redaction,
    rigs,
    threads = [],
    tokenizer: _tokenizer,
    town,
    ...settings
  } = options
  const system = [...(given?.system ?? [])].map(([role, text]) => [role, sha256(text)] as const)
  const tools = given?.tools === undefined ? null : sha256(JSON.stringify(given.tools))
  return {
    ...settings,
    rigs: rigs.map(shown),
    ...(models === undefined ? {} : { models: models.map(shown) }),
    ...(town === undefined ? {} : { town_sha256: sha256(town) }),
    ...(model === undefined ? {} : { model_sha256: model }),
    ...(marks === undefined
      ? {}
      : { marks: { sha256: sha256(JSON.stringify(marks)), accepted_only: marks.acceptedOnly } }),
    redaction: redactionOf(redaction),
    threads: threads.length,
    system: Object.fromEntries(system),
    tools
  }
}

/** Equal hashes of the key mean equal numbers in placeholders. The key is 256 random bits, so its hash is safe. */
const redactionOf = (redaction: ExtractOptions["redaction"]) =>
  redaction === "off" || redaction === undefined
    ? (redaction ?? "key of this run")
    : { key_sha256: sha256(redaction.key), exact_values: redaction.exact?.length ?? 0 }

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

export interface ManifestOptions {
  /** The fingerprint of the model whose tokens were counted or written. */
  readonly model?: string | undefined
  /** Redacts a name. Default: names are unchanged. */
  readonly shown?: ((text: string) => string) | undefined
}

/** The text of the manifest. The report must be redacted if the dataset is. */
export const make = (options: ExtractOptions, report: ExtractReport, more: ManifestOptions = {}): string => {
  const settings = settingsOf(options, more)
  const manifest = {
    kind: MANIFEST_KIND,
    settings,
    settings_sha256: sha256(JSON.stringify(settings)),
    inputs: report.rows.flatMap(({ session_id, sha256, split }) =>
      sha256 === undefined || split === undefined ? [] : [{ session_id: session_id ?? "", sha256, split }]
    ),
    files: report.outputs.files.map(({ path, samples, sha256 }) => ({ name: nameOf(path), samples, sha256 })),
    ...(report.outputs.loose === undefined ? {} : { loose: report.outputs.loose })
  }
  return `${JSON.stringify(manifest, undefined, 1)}\n`
}
