/** The members of `FileSystem` that take paths, on a simulated disk: the system calls that node makes for each. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import * as faultyFile from "./faultyFile.ts"
import * as kernel from "./kernel.ts"
import * as calls from "./memberCalls.ts"
import * as systemCalls from "./systemCalls.ts"

const unsupported = (member: string) => () =>
  Effect.die(new Error(`FaultyFileSystem does not simulate FileSystem.${member}`))

const resolved = (path: string): string => {
  const parts: Array<string> = []
  for (const part of path.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}

const remove = (
  system: kernel.Kernel,
  method: string,
  path: string,
  options?: { readonly recursive?: boolean | undefined; readonly force?: boolean | undefined }
) =>
  kernel.method(system, method, path, () => {
    try {
      const kind = calls.look(system, method, "lstat", path, (inode) => system.disk.node(inode).kind)
      if (kind === "directory" && options?.recursive !== true) throw kernel.refusal("ERR_FS_EISDIR", "rm")
      calls.removeTree(system, method, path, kind === "directory")
    } catch (error) {
      if (options?.force !== true || !kernel.isRefusal(error, "ENOENT")) throw error
    }
  })

const temporaryDirectory = (
  system: kernel.Kernel,
  method: string,
  options?: { readonly directory?: string | undefined; readonly prefix?: string | undefined }
) => {
  const prefix = calls.joined(options?.directory ?? "/tmp", options?.prefix ?? "")
  return kernel.method(system, method, `${prefix}XXXXXX`, () => {
    system.temporary += 1
    const path = `${prefix}${system.temporary.toString(36).padStart(6, "0")}`
    calls.change(system, method, "mkdir", path, () => systemCalls.makeDirectory(system.disk, path, 0o700))
    return path
  })
}

const writeFile = (
  system: kernel.Kernel,
  path: string,
  data: Uint8Array,
  options?: { readonly flag?: FileSystem.OpenFlag | undefined; readonly mode?: number | undefined }
) =>
  kernel.method(system, "writeFile", path, () => {
    const descriptor = calls.openDescriptor(system, "writeFile", path, options?.flag ?? "w", options?.mode)
    calls.withDescriptor(system, "writeFile", descriptor, () => calls.writeWhole(system, "writeFile", descriptor, data))
  })

const open = (system: kernel.Kernel): FileSystem.FileSystem["open"] =>
  Effect.fnUntraced(function* (path, options) {
    const flag = options?.flag ?? "r"
    const descriptor = yield* Effect.acquireRelease(
      kernel.method(system, "open", path, () => calls.openDescriptor(system, "open", path, flag, options?.mode)),
      (descriptor) =>
        // A program that is dead closes nothing; what it had open goes with it.
        system.halted
          ? Effect.void
          : Effect.orDie(kernel.method(system, "open", descriptor, () => kernel.close(system, "open", descriptor)))
    )
    return faultyFile.make(system, descriptor, flag.startsWith("a"))
  })

const temporaryFile = Effect.fnUntraced(function* (
  system: kernel.Kernel,
  method: string,
  options?: Parameters<FileSystem.FileSystem["makeTempFile"]>[0]
) {
  const directory = yield* temporaryDirectory(system, method, options)
  const path = calls.joined(directory, `file${options?.suffix ?? ""}`)
  yield* writeFile(system, path, new Uint8Array(0))
  return path
})

const scoped = <E>(
  system: kernel.Kernel,
  method: string,
  make: Effect.Effect<string, E>,
  dir: (path: string) => string
) =>
  Effect.acquireRelease(make, (path) =>
    system.halted ? Effect.void : Effect.orDie(remove(system, method, dir(path), { recursive: true, force: true }))
  )

/** The members that change or list names. */
const nameMembers = (system: kernel.Kernel) => {
  const { disk } = system
  return {
    copyFile: (from, to) =>
      kernel.method(system, "copyFile", from, () => calls.copyFile(system, from, to), to, "copyfile"),
    link: (from, to) =>
      kernel.method(
        system,
        "link",
        from,
        () => calls.change(system, "link", "link", from, () => systemCalls.link(disk, from, to), to),
        to
      ),
    makeDirectory: (path, options) =>
      kernel.method(system, "makeDirectory", path, () => {
        if (options?.recursive === true) return calls.makeDirectories(system, path, options.mode)
        calls.change(system, "makeDirectory", "mkdir", path, () => systemCalls.makeDirectory(disk, path, options?.mode))
      }),
    makeTempDirectory: (options) => temporaryDirectory(system, "makeTempDirectory", options),
    makeTempDirectoryScoped: (options) => {
      const method = "makeTempDirectoryScoped"
      return scoped(system, method, temporaryDirectory(system, method, options), (path) => path)
    },
    makeTempFile: (options) => temporaryFile(system, "makeTempFile", options),
    makeTempFileScoped: (options) => {
      const method = "makeTempFileScoped"
      return scoped(system, method, temporaryFile(system, method, options), (path) => path.replace(/\/[^/]*$/, ""))
    },
    readDirectory: (path, options) =>
      kernel.method(system, "readDirectory", path, () =>
        options?.recursive === true
          ? calls.readTree(system, "readDirectory", path)
          : calls.readDirectory(system, "readDirectory", path).map(({ name }) => name)
      ),
    readDirectoryEntries: (path) =>
      kernel.method(system, "readDirectoryEntries", path, () =>
        calls.readDirectory(system, "readDirectoryEntries", path)
      ),
    remove: (path, options) => remove(system, "remove", path, options),
    rename: (from, to) =>
      kernel.method(
        system,
        "rename",
        from,
        () => calls.change(system, "rename", "rename", from, () => systemCalls.rename(disk, from, to), to),
        to
      )
  } satisfies Partial<FileSystem.FileSystem>
}

/** The members that read or change one file or its attributes. */
const fileMembers = (system: kernel.Kernel) => {
  const { disk } = system
  const stat = (method: "stat" | "lstat") => (path: string) =>
    kernel.method(system, method, path, () =>
      calls.look(system, method, method, path, (inode) => faultyFile.info(disk, inode))
    )
  return {
    access: (path) =>
      kernel.method(system, "access", path, () => calls.look(system, "access", "access", path, () => {})),
    chmod: (path, mode) =>
      kernel.method(system, "chmod", path, () =>
        calls.look(system, "chmod", "chmod", path, (inode) =>
          disk.setAttributes(inode, { mode: (disk.node(inode).mode & ~0o7777) | mode })
        )
      ),
    lstat: stat("lstat"),
    open: open(system),
    readFile: (path) =>
      kernel.method(system, "readFile", path, () => {
        const descriptor = calls.openDescriptor(system, "readFile", path, "r")
        return calls.withDescriptor(system, "readFile", descriptor, () =>
          calls.readWhole(system, "readFile", descriptor)
        )
      }),
    // Node resolves it itself, by one lstat for each part.
    realPath: (path) =>
      kernel.method(
        system,
        "realPath",
        path,
        () => calls.look(system, "realPath", "realpath", resolved(path), () => resolved(path)),
        undefined,
        "lstat"
      ),
    stat: stat("stat"),
    truncate: (path, length) =>
      kernel.method(system, "truncate", path, () => {
        const descriptor = calls.openDescriptor(system, "truncate", path, "r+")
        calls.withDescriptor(system, "truncate", descriptor, () =>
          kernel.truncate(system, "truncate", descriptor, Math.max(0, length ?? 0))
        )
      }),
    utimes: (path, _atime, mtime) =>
      kernel.method(system, "utime", path, () =>
        calls.look(system, "utime", "utimes", path, (inode) =>
          disk.setAttributes(inode, { mtime: typeof mtime === "number" ? mtime * 1000 : mtime.getTime() })
        )
      ),
    writeFile: (path, data, options) => writeFile(system, path, data, options)
  } satisfies Partial<FileSystem.FileSystem>
}

/** The service. `FileSystem.make` derives `exists`, `stream`, `sink`, `glob` and the members for strings. */
export const fileSystem = (system: kernel.Kernel): FileSystem.FileSystem =>
  FileSystem.make({
    ...nameMembers(system),
    ...fileMembers(system),
    chown: unsupported("chown"),
    copy: unsupported("copy"),
    readLink: unsupported("readLink"),
    symlink: unsupported("symlink"),
    watch: () => Stream.unwrap(unsupported("watch")())
  })
