/** Parses the command line: `[--NAME VALUE]... [-- COMMAND ARGS...]`. */

export interface Arguments {
  /** Settings by the names of their environment variables. */
  readonly settings: { readonly [variable: string]: string }
  /** The program to run afterwards; after `--`. */
  readonly command: readonly [string, ...ReadonlyArray<string>] | undefined
  readonly help: boolean
  /** What is wrong with the command line. */
  readonly problem: string | undefined
}

/** Flags and the environment variables that they override. */
export const FLAGS: { readonly [flag: string]: readonly [variable: string, description: string] } = {
  "--thread": ["ARBE_THREAD_ID", "thread id, or with --file its path"],
  "--file": ["SANDBOX_THREAD_FILE", "thread file to read instead of asking ARBE_URL"],
  "--url": ["ARBE_URL", "where threads are served"],
  "--cwd": ["SANDBOX_CWD", "directory that Pi continues in (default: here)"],
  "--out": ["SANDBOX_SESSION_FILE", "session file to write"],
  "--session-dir": ["SANDBOX_SESSION_DIR", "directory to write to (default: arbe-sessions/THREAD)"],
  "--session": ["SANDBOX_SESSION_ID", "which session of the thread (default: that of its newest entry)"],
  "--mode": ["SANDBOX_MODE", "auto, lossless or semantic (default: auto)"],
  "--tools": ["SANDBOX_TOOLS", "pairs, flatten or omit (default: pairs)"]
}

export const parse = (args: ReadonlyArray<string>): Arguments => {
  const settings: Record<string, string> = {}
  for (let i = 0; i < args.length; i++) {
    const [flag = "", inline] = args[i]?.split(/=(.*)/s) ?? []
    if (flag === "--help" || flag === "-h") return { settings, command: undefined, help: true, problem: undefined }
    if (flag === "--") {
      const [program, ...rest] = args.slice(i + 1)
      if (program !== undefined) return { settings, command: [program, ...rest], help: false, problem: undefined }
      return { settings, command: undefined, help: false, problem: "give the command after --" }
    }
    const known = FLAGS[flag]
    const value = inline ?? args[++i]
    if (known === undefined) {
      return { settings, command: undefined, help: false, problem: `unknown argument ${flag}` }
    }
    if (value === undefined) return { settings, command: undefined, help: false, problem: `${flag} needs a value` }
    settings[known[0]] = value
  }
  return { settings, command: undefined, help: false, problem: undefined }
}

export const HELP = `Hydrates a thread into a session that Pi continues, and starts Pi there.

  sandbox-hydrate [FLAGS] [-- COMMAND ARGS]

With a COMMAND it becomes COMMAND --session PATH ARGS; without one it prints PATH.

${Object.entries(FLAGS)
  .map(([flag, [variable, description]]) => `  ${flag.padEnd(14)} ${description} [${variable}]`)
  .join("\n")}
  ARBE_TOKEN     bearer token for ARBE_URL, from the environment only

Exit status: 0 done, 1 failed, 2 wrong usage; after -- that of COMMAND.

Example: ARBE_URL=https://arbe.example ARBE_THREAD_ID=th_1 sandbox-hydrate -- pi -p "go on"
`
