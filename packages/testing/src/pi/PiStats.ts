/**
 * What a real Pi counts in a session: `getSessionStats` of its `AgentSession`, which `/session` and RPC show. Runs on
 * an object with only the session, since a complete `AgentSession` needs a model, settings and a terminal.
 */
import * as Url from "node:url"
import type { PiSessionManager } from "./PiModule.ts"
import * as PiVersion from "./PiVersion.ts"

/** The fields that this project counts too. */
export interface PiStats {
  readonly userMessages: number
  readonly assistantMessages: number
  readonly toolCalls: number
  readonly toolResults: number
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
    readonly total: number
  }
  /** US dollars. */
  readonly cost: number
}

interface StandIn {
  /** 1.5 counts the entries of the file. */
  readonly sessionManager: PiSessionManager
  /** 0.78 counts messages; its footer counts those of all entries. */
  readonly state: { readonly messages: ReadonlyArray<unknown> }
  getContextUsage(): undefined
}

interface PiAgentSession {
  readonly AgentSession: { readonly prototype: { getSessionStats(this: StandIn): PiStats } }
}

const hasAgentSession = (exports: unknown): exports is PiAgentSession =>
  typeof exports === "object" && exports !== null && "AgentSession" in exports

/** Counts all entries of a session, those of every branch. */
export const count = async (version: PiVersion.PiVersion, sessionManager: PiSessionManager): Promise<PiStats> => {
  const file = PiVersion.indexPath(version)
  const exports: unknown = await import(/* @vite-ignore */ Url.pathToFileURL(file).href)
  if (!hasAgentSession(exports)) throw new Error(`${file} does not export AgentSession`)
  const messages = sessionManager
    .getEntries()
    .flatMap((entry): ReadonlyArray<unknown> => (entry.type === "message" ? [entry["message"]] : []))
  return exports.AgentSession.prototype.getSessionStats.call({
    sessionManager,
    state: { messages },
    getContextUsage: () => undefined
  })
}
