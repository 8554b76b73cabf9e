/**
 * A typed view of what a real Pi exports, as the oracle for trees and contexts.
 *
 * The types promise no more than Pi does: entries and messages are unvalidated, as in Pi. Session folders are required
 * everywhere, because Pi otherwise uses the home folder. Importing a Pi computes the path of the agent folder but
 * touches no file outside its own package.
 */
import * as Url from "node:url"
import * as PiVersion from "./PiVersion.ts"

/** An entry of a session: what every kind has, and unvalidated rest. */
export interface PiEntry {
  readonly type: string
  readonly id: string
  readonly parentId: string | null
  readonly timestamp: string
  readonly [key: string]: unknown
}

/** A message, stored in an entry or made for the model. */
export interface PiMessage {
  readonly role: string
  readonly [key: string]: unknown
}

/** The first line of a session file. */
export interface PiHeader {
  readonly type: "session"
  readonly id: string
  readonly version?: number
  readonly timestamp?: string
  readonly cwd?: string
  readonly parentSession?: string
  readonly [key: string]: unknown
}

/** Content that may hold text and images. */
export type PiContent = string | ReadonlyArray<{ readonly type: string; readonly [key: string]: unknown }>

/** A node of `getTree`. */
export interface PiTreeNode {
  readonly entry: PiEntry
  readonly children: ReadonlyArray<PiTreeNode>
  readonly label?: string | undefined
  readonly labelTimestamp?: string | undefined
}

/** What Pi would continue with from a leaf. */
export interface PiContext {
  readonly messages: ReadonlyArray<PiMessage>
  readonly thinkingLevel: string
  readonly model: { readonly provider: string; readonly modelId: string } | null
}

/** Pi's `SessionManager`. The optional methods are those 0.78 lacks. */
export interface PiSessionManager {
  appendMessage(message: PiMessage): string
  appendThinkingLevelChange(thinkingLevel: string): string
  appendModelChange(provider: string, modelId: string): string
  /** 1.5 takes null (keep nothing) and usage; 0.78 would write the null and ignores the usage. */
  appendCompaction(
    summary: string,
    firstKeptEntryId: string | null,
    tokensBefore: number,
    details?: unknown,
    fromHook?: boolean,
    usage?: unknown
  ): string
  appendCustomEntry(customType: string, data?: unknown): string
  appendCustomMessageEntry(customType: string, content: PiContent, display: boolean, details?: unknown): string
  appendSessionInfo(name: string): string
  appendLabelChange(targetId: string, label: string | undefined): string
  appendContextEdit?(targetId: string, replacement: { readonly content: PiContent } | null): string
  appendUsage?(kind: string, provider: string, model: string, usage: unknown, note?: string): PiEntry
  branch(branchFromId: string): void
  resetLeaf(): void
  branchWithSummary(
    branchFromId: string | null,
    summary: string,
    details?: unknown,
    fromHook?: boolean,
    usage?: unknown
  ): string
  createBranchedSession(leafId: string): string | undefined
  getLeafId(): string | null
  getEntries(): ReadonlyArray<PiEntry>
  getEntry(id: string): PiEntry | undefined
  getBranch(fromId?: string): ReadonlyArray<PiEntry>
  getTree(): ReadonlyArray<PiTreeNode>
  getChildren(parentId: string): ReadonlyArray<PiEntry>
  getLabel(id: string): string | undefined
  getSessionName(): string | undefined
  buildSessionContext(): PiContext
  getHeader(): PiHeader | null
  getSessionFile(): string | undefined
  getSessionId(): string
  getCwd(): string
}

/** The ways to get a `PiSessionManager`. */
export interface PiSessionManagers {
  /** Starts a session in `sessionDir`; the file appears with the first message that Pi finds worth keeping. */
  create(
    cwd: string,
    sessionDir: string,
    options?: { readonly id?: string; readonly parentSession?: string }
  ): PiSessionManager
  /** Opens a file, migrating and rewriting it when it is old. */
  open(path: string, sessionDir?: string, cwdOverride?: string): PiSessionManager
  /** Starts a session without a file. */
  inMemory(cwd: string): PiSessionManager
  /** Copies a whole session into a new file under `sessionDir`. */
  forkFrom(
    sourcePath: string,
    targetCwd: string,
    sessionDir: string,
    options?: { readonly id?: string }
  ): PiSessionManager
}

interface PiExports {
  readonly SessionManager: PiSessionManagers
  buildSessionContext(
    entries: ReadonlyArray<PiEntry>,
    leafId?: string | null,
    byId?: ReadonlyMap<string, PiEntry>
  ): PiContext
  convertToLlm(messages: ReadonlyArray<PiMessage>): ReadonlyArray<PiMessage>
  collectEntriesForBranchSummary(
    session: PiSessionManager,
    oldLeafId: string | null,
    targetId: string
  ): { readonly entries: ReadonlyArray<PiEntry>; readonly commonAncestorId: string | null }
}

/** The exports of one real Pi that tests use. */
export interface PiModule extends PiExports {
  readonly version: PiVersion.PiVersion
}

const isPiExports = (exports: unknown): exports is PiExports =>
  typeof exports === "object" &&
  exports !== null &&
  ["SessionManager", "buildSessionContext", "convertToLlm", "collectEntriesForBranchSummary"].every(
    (name) => name in exports && typeof Reflect.get(exports, name) === "function"
  )

/** Imports a real Pi. Takes up to a second the first time in a process. */
export const load = async (version: PiVersion.PiVersion): Promise<PiModule> => {
  const file = PiVersion.indexPath(version)
  const exports: unknown = await import(/* @vite-ignore */ Url.pathToFileURL(file).href)
  if (!isPiExports(exports)) throw new Error(`${file} does not export what Pi ${version} should`)
  return {
    version,
    SessionManager: exports.SessionManager,
    buildSessionContext: exports.buildSessionContext,
    convertToLlm: exports.convertToLlm,
    collectEntriesForBranchSummary: exports.collectEntriesForBranchSummary
  }
}
