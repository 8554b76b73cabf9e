/**
 * The real Pis' `AgentSession.navigateTree`, run on a session manager alone: with no model, no tools and one extension,
 * which writes the summary and notes the events.
 */
import type * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as Url from "node:url"
import { type JsonObject } from "../../src/Json.ts"

export interface NavigateOptions {
  readonly summarize?: boolean
  readonly customInstructions?: string
  readonly replaceInstructions?: boolean
  readonly label?: string
}

/** An event for extensions, with Pi's members. */
export interface PiEvent {
  readonly type: string
  readonly [member: string]: unknown
}

export interface Navigated {
  readonly events: ReadonlyArray<PiEvent>
  readonly editorText: unknown
}

/** Moves to `targetId`; the extension gives this summary when one is requested. */
export type Navigate = (
  manager: PiModule.PiSessionManager,
  targetId: string,
  options: NavigateOptions,
  summary: JsonObject
) => Promise<Navigated>

const member = (value: unknown, name: string): unknown =>
  (typeof value === "object" && value !== null) || typeof value === "function" ? Reflect.get(value, name) : undefined

/** Loads a real Pi's navigation. */
export const load = async (version: PiVersion.PiVersion): Promise<Navigate> => {
  const exports: unknown = await import(/* @vite-ignore */ Url.pathToFileURL(PiVersion.indexPath(version)).href)
  const prototype = member(member(exports, "AgentSession"), "prototype")
  const navigateTree = member(prototype, "navigateTree")
  if (typeof prototype !== "object" || prototype === null || typeof navigateTree !== "function") {
    throw new Error(`Pi ${version} has no AgentSession.navigateTree`)
  }
  return async (manager, targetId, options, summary) => {
    const events: Array<PiEvent> = []
    const members = {
      sessionManager: manager,
      agent: { state: {} },
      model: {},
      isStreaming: false,
      isCompacting: false,
      _promptPreflightCount: 0,
      _branchSummaryAbortController: undefined,
      _refreshFinalizedContext: () => {},
      _restoreToolsFromTranscript: () => {},
      _resolveIdleWaitIfIdle: () => {},
      _extensionRunner: {
        hasHandlers: () => true,
        emit: (event: PiEvent) => {
          events.push(event)
          return Promise.resolve(event.type === "session_before_tree" ? { summary } : undefined)
        }
      }
    }
    const session: unknown = Object.create(
      prototype,
      Object.fromEntries(Object.entries(members).map(([name, value]) => [name, { value, writable: true }]))
    )
    const result: unknown = await Reflect.apply(navigateTree, session, [targetId, options])
    return { events, editorText: member(result, "editorText") }
  }
}
