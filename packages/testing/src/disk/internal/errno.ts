/** Errors of system calls, and how Effect's node layer gives them. */
import * as PlatformError from "effect/PlatformError"
import * as Os from "node:os"
import * as Util from "node:util"

/** Codes of errors that the simulator makes itself or that a fault may ask for. */
export type ErrorCode =
  | "EACCES"
  | "EBADF"
  | "EBUSY"
  | "EDQUOT"
  | "EEXIST"
  | "EFBIG"
  | "EINVAL"
  | "EIO"
  | "EISDIR"
  | "ELOOP"
  | "EMFILE"
  | "ENOENT"
  | "ENOSPC"
  | "ENOTDIR"
  | "ENOTEMPTY"
  | "EPERM"
  | "EROFS"
  | "EXDEV"
  | "ERR_FS_EISDIR"

/** A system call was refused. */
export class DiskError extends Error {
  override readonly name = "DiskError"
  readonly code: ErrorCode

  constructor(code: ErrorCode) {
    super(code)
    this.code = code
  }
}

const tags: Partial<Record<ErrorCode, PlatformError.SystemErrorTag>> = {
  ENOENT: "NotFound",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EEXIST: "AlreadyExists",
  EISDIR: "BadResource",
  ENOTDIR: "BadResource",
  EBUSY: "Busy",
  ELOOP: "BadResource"
}

const numbers: Readonly<Record<string, number>> = Os.constants.errno

/** What node throws for a code: an error with `code`, `errno`, `syscall` and, for calls by path, `path` and `dest`. */
const nodeError = (code: ErrorCode, syscall: string, path: string | undefined, to: string | undefined): Error => {
  const errno = -(numbers[code] ?? 0)
  const text = errno === 0 ? "Path is a directory" : Util.getSystemErrorMessage(errno)
  const where = path === undefined ? "" : ` '${path}'${to === undefined ? "" : ` -> '${to}'`}`
  return Object.assign(new Error(`${code}: ${text}, ${syscall}${where}`), {
    errno,
    code,
    syscall,
    ...(path === undefined ? {} : { path }),
    ...(to === undefined ? {} : { dest: to })
  })
}

// Calls on a descriptor, whose errors name no path, whichever member made them.
const withoutPath = new Set(["close", "fstat", "fsync", "ftruncate", "read", "write"])

/** The error as `FileSystem` gives it: the tag by the code, and node's error as the cause. */
export const platformError = (error: {
  readonly code: ErrorCode
  readonly method: string
  readonly syscall: string
  /** The path that the method was called with, or the descriptor. */
  readonly pathOrDescriptor: string | number
  readonly to?: string | undefined
}): PlatformError.PlatformError => {
  const { code, method, syscall, pathOrDescriptor, to } = error
  const path = typeof pathOrDescriptor === "string" && !withoutPath.has(syscall) ? pathOrDescriptor : undefined
  return PlatformError.systemError({
    _tag: tags[code] ?? "Unknown",
    module: "FileSystem",
    method,
    syscall,
    pathOrDescriptor,
    cause: nodeError(code, syscall, path, to)
  })
}
