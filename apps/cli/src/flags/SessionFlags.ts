/** Flags and arguments that choose sessions. */
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import * as GasTown from "@pi-sessions/core/GasTown"
import * as FlagKinds from "./FlagKinds.ts"

/** The one session of a command; at a terminal the user can choose it. */
export const session = Argument.String("SESSION").pipe(
  Argument.withDescription("Path, id or start of an id. Default at a terminal: choose from a list."),
  Argument.optional
)

export const sessions = (what = "Session file, or directory searched to any depth") =>
  FlagKinds.texts("sessions", "PATH", `${what}. Default: where Pi keeps its sessions.`)

/** Where sessions for training data come from. */
export const sources = sessions("Session file, Claude Code transcript, or directory searched to any depth")

export const rig = FlagKinds.texts(
  "rig",
  "RIG",
  "Only sessions of this rig, town-level agent or address: gastown, deacon, gastown/crew/max, gastown/**"
)

export const role = Flag.Literals("role", GasTown.Role.literals).pipe(
  Flag.withDescription("Only sessions of this role"),
  Flag.atLeast(0)
)

export const cwd = FlagKinds.text("cwd", "DIR", "Only sessions of this working directory and those below it")

export const model = (what: string) => FlagKinds.texts("model", "MODEL", what)

/** `what` says which time counts: "begun", "changed". */
export const since = (what: string) =>
  FlagKinds.text("since", "WHEN", `Only ${what} at this time or later: 2026-02-25, 2026-02-25T08:30, 7d, 12h`)

/** `what` as for `since`. */
export const until = (what: string) => FlagKinds.text("until", "WHEN", `Only ${what}; a day counts whole`)

export const limit = (what: string) => FlagKinds.int("limit", "N", `At most this many ${what}`)
