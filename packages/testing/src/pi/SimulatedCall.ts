/** A system call on a simulated disk, and the faults that a test can inject into it. */
import type * as FileSystem from "effect/FileSystem"
import type { ErrorCode } from "../disk/internal/errno.ts"

/** One system call, as the program made it. */
export interface Operation {
  /** Its place among all calls, from 0. */
  readonly index: number
  readonly call:
    | "access"
    | "chmod"
    | "close"
    | "fstat"
    | "ftruncate"
    | "link"
    | "lstat"
    | "mkdir"
    | "open"
    | "read"
    | "readdir"
    | "realpath"
    | "rename"
    | "rmdir"
    | "stat"
    | "sync"
    | "unlink"
    | "utimes"
    | "write"
  /** The member of `FileSystem` or `File` that made it. */
  readonly method: string
  /** The path; for calls on a handle, the path that it was opened with. */
  readonly path: string
  /** The new path of `rename` and `link`. */
  readonly to?: string
  /** How `open` opens. */
  readonly flag?: FileSystem.OpenFlag
  readonly descriptor?: number
  /** Where `read` and `write` begin. */
  readonly offset?: number
  /** How many bytes `read` and `write` ask for. */
  readonly length?: number
  /** The length that `ftruncate` asks for. */
  readonly size?: number
  /** Whether the call can change what a power cut leaves; a sync can. */
  readonly changes: boolean
  /** `done` or the code of the error; missing while the call is under way. */
  readonly result?: string
  /** How many bytes `read` and `write` did. */
  readonly count?: number
}

/**
 * What goes wrong with a call.
 *
 * - `Error`: the call does nothing but fail. A sync that fails so marks what was unsynced: no later sync makes it
 *   durable (see `SimulatedDisk`). A `close` that fails closes all the same, and a scope dies of it, as in Effect.
 * - `Short`: a write or read of so many bytes at most.
 * - `Ignored`: a sync that says it is done and does nothing. Ignore one after the other to see which a program needs.
 */
export type Fault =
  | { readonly _tag: "Error"; readonly code: ErrorCode }
  | { readonly _tag: "Short"; readonly bytes: number }
  | { readonly _tag: "Ignored" }

export const error = (code: ErrorCode): Fault => ({ _tag: "Error", code })
export const short = (bytes: number): Fault => ({ _tag: "Short", bytes })
export const ignored: Fault = { _tag: "Ignored" }
