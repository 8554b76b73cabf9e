/** Errors of stores, with a tag for each. */
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import { StoreFormat } from "./wire/WireField.ts"

/** Ids of the invariants (docs/adr/003-session-store-v2.md); `verify` reports broken ones by them. */
export const InvariantId = Schema.Literals([
  "INV-001",
  "INV-002",
  "INV-003",
  "INV-004",
  "INV-005",
  "INV-006",
  "INV-007"
])
export type InvariantId = typeof InvariantId.Type

/** An I/O error. Acknowledged entries are safe; the operation may be tried again. */
export class StoreIoError extends Schema.TaggedError<StoreIoError>()("StoreIoError", {
  path: Schema.String,
  operation: Schema.String,
  reason: Schema.String,
  /** `ENOSPC`, `EIO` and so on, where the system reports one. */
  code: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const remedy =
      this.code === "ENOSPC" ? ". Free some space and try again; nothing that was acknowledged is lost" : ""
    return `cannot ${this.operation} ${this.path}: ${this.reason}${remedy}`
  }
}

/** Turns a platform error into a StoreIoError. */
export const fromPlatform =
  (path: string, operation: string) =>
  (error: PlatformError.PlatformError): StoreIoError => {
    const code = codeOf(error.reason.cause)
    const reason =
      code === "ENOSPC"
        ? "no space left on the disk"
        : error.reason._tag === "NotFound"
          ? "no such file or directory"
          : error.reason._tag === "PermissionDenied"
            ? "permission denied"
            : error.message
    return new StoreIoError({ path, operation, reason, ...(code === undefined ? {} : { code }) })
  }

const codeOf = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined

/** There is no store at this path. */
export class StoreNotFound extends Schema.TaggedError<StoreNotFound>()("StoreNotFound", { path: Schema.String }) {
  override get message(): string {
    return `${this.path}: no session store here; make one with: pi-sessions store migrate SESSION`
  }
}

/** A container that was the active store of its session lost its marker. Nothing was changed. */
export class MarkerLost extends Schema.TaggedError<MarkerLost>()("MarkerLost", {
  /** Path of the missing marker. */
  path: Schema.String,
  container: Schema.String
}) {
  override get message(): string {
    return `${this.container}: this container was the active store of its session and may hold entries that are nowhere else, but its marker ${this.path} is gone; nothing was changed. Make it the active store again with: pi-sessions store activate ${this.container}`
  }
}

/** The session has a container, but another store is its active one. */
export class StoreNotActive extends Schema.TaggedError<StoreNotActive>()("StoreNotActive", {
  path: Schema.String,
  active: StoreFormat,
  activePath: Schema.String
}) {
  override get message(): string {
    return `${this.path}: the active store of this session is ${this.activePath} (${this.active}), not this container`
  }
}

/** Another writer holds the lock. */
export class StoreLocked extends Schema.TaggedError<StoreLocked>()("StoreLocked", {
  path: Schema.String,
  /** The holder's process id, program and start time, or "another program". */
  holder: Schema.String
}) {
  override get message(): string {
    return `${this.path}: the store is being written by ${this.holder}; end that first. Reading needs no lock`
  }
}

/** Bytes of the store are damaged, and the store cannot rebuild them. */
export class StoreDamaged extends Schema.TaggedError<StoreDamaged>()("StoreDamaged", {
  path: Schema.String,
  byteOffset: Schema.Int,
  reason: Schema.String,
  invariant: Schema.optionalKey(InvariantId)
}) {
  override get message(): string {
    const which = this.invariant === undefined ? "" : ` (${this.invariant})`
    return `${this.path}, byte ${this.byteOffset}: ${this.reason}${which}; nothing was changed. "pi-sessions store verify" lists all damage, "store export --salvage" writes every line that is whole`
  }
}

/** The store is in state FAILED. It can be read; a person must decide before it is written again. */
export class StoreFailed extends Schema.TaggedError<StoreFailed>()("StoreFailed", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.path}: the store is in state FAILED: ${this.reason}`
  }
}

/** An entry that the session cannot hold. Nothing was written. */
export class EntryRefused extends Schema.TaggedError<EntryRefused>()("EntryRefused", {
  path: Schema.String,
  entryId: Schema.String,
  why: Schema.Literals(["no-id", "unknown-parent", "id-taken", "several-lines", "before-header", "too-long"]),
  parentId: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const what = {
      "no-id": "the entry has no id",
      "unknown-parent": `its parent ${this.parentId} is not in the session (INV-001)`,
      "id-taken": "another entry with this id is in the session already",
      "several-lines": "its line contains a newline",
      "before-header": "the store holds no session header yet",
      "too-long": "its id, its parent's and its type are longer than 60 KiB together"
    }[this.why]
    return `${this.path}: entry ${this.entryId} was refused: ${what}`
  }
}

/** The session has no such entry. */
export class EntryNotFound extends Schema.TaggedError<EntryNotFound>()("EntryNotFound", {
  path: Schema.String,
  entry: Schema.String
}) {
  override get message(): string {
    return `${this.path}: there is no entry ${this.entry} in this session`
  }
}

/** `create` found a store of this session. */
export class StoreExists extends Schema.TaggedError<StoreExists>()("StoreExists", { path: Schema.String }) {
  override get message(): string {
    return `${this.path}: there is a store of this session already; open that one, or go back to a file first with: pi-sessions store rollback`
  }
}

/** The header has no id that can be part of a file name. */
export class BadSessionId extends Schema.TaggedError<BadSessionId>()("BadSessionId", { sessionId: Schema.String }) {
  override get message(): string {
    return `the session id ${JSON.stringify(this.sessionId)} cannot be part of a file name; give the header an id of 1 to 200 bytes without a slash, a backslash or a dot at its beginning`
  }
}

/** The source is not a session of format version 3, or its id cannot name a file. Nothing was changed. */
export class MigrationRefused extends Schema.TaggedError<MigrationRefused>()("MigrationRefused", {
  path: Schema.String,
  findings: Schema.Array(Schema.Struct({ line: Schema.Int, byteOffset: Schema.Int, message: Schema.String }))
}) {
  override get message(): string {
    const [first] = this.findings
    const more = this.findings.length > 1 ? ` (and ${this.findings.length - 1} more)` : ""
    return `${this.path}:${first?.line ?? 1} (byte ${first?.byteOffset ?? 0}): ${first?.message ?? ""}${more}; the session was not migrated and stays as it is`
  }
}

/** A built container or an exported file does not hold the session. It did not become active. */
export class VerificationFailed extends Schema.TaggedError<VerificationFailed>()("VerificationFailed", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.reason}; the active store is unchanged. Try again when no program writes to it; "pi-sessions store verify" reports what is wrong with a container`
  }
}
