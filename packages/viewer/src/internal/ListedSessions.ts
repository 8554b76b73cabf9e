/** The sessions that a viewer lists, and the redaction of texts about them. */
import type * as Effect from "effect/Effect"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type RedactionSettings } from "@pi-sessions/extract/ExtractOptions"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import { Redactor } from "@pi-sessions/redaction/Redactor"
import { keyOf } from "../SessionKey.ts"
import { ViewFailed, type ViewNotFound, orNotFound } from "../ViewError.ts"

/** Redacts a text. */
export type Redact = (text: string) => string

export class ListedSessions {
  readonly byKey: ReadonlyMap<string, CatalogSession>
  /** Undefined: nothing is redacted. */
  readonly redactor: Redactor | undefined

  constructor(sessions: ReadonlyArray<CatalogSession>, redaction: RedactionSettings | "off") {
    this.byKey = new Map(sessions.map((session) => [keyOf(session.path), session]))
    this.redactor =
      redaction === "off"
        ? undefined
        : new Redactor({ placeholders: new Placeholders(redaction.key), exact: redaction.exact ?? [] })
  }

  get(key: string): Effect.Effect<CatalogSession, ViewNotFound> {
    return orNotFound(this.byKey.get(key), "no such session is listed here")
  }

  /** Redacts texts that mention these paths. */
  redact(...paths: ReadonlyArray<string>): Redact {
    const scope = this.redactor?.scope(paths)
    return (text) => scope?.text(text) ?? text
  }

  /** The redacted message of an error that may mention these paths. */
  failed(...paths: ReadonlyArray<string>): (error: { readonly message: string }) => ViewFailed {
    return ({ message }) => new ViewFailed({ message: this.redact(...paths)(message) })
  }

  failedFor({ cwd, path }: CatalogSession): (error: { readonly message: string }) => ViewFailed {
    return this.failed(path, cwd)
  }
}
