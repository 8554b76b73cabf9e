/** How a run can fail, for callers to tell apart. */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

const Counts = Schema.Record(Schema.String, Schema.Int)

const list = (counts: { readonly [name: string]: number }): string => {
  const entries = Object.entries(counts).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return entries.length === 0 ? "none" : entries.map(([name, count]) => `${name} (${count})`).join(", ")
}

/** No session, or none that the selectors take; nothing was written. Exit status 2. */
export class NothingMatched extends Schema.TaggedError<NothingMatched>()("NothingMatched", {
  /** The selectors. */
  rigs: Schema.Array(Schema.String),
  roles: Schema.Array(Schema.String),
  /** Sessions found, by rig (those that have one) and by role. */
  sessions: Schema.Int,
  /** Files and directories that are no sessions or could not be read. */
  problems: Schema.Array(Schema.Struct({ path: Schema.String, reason: Schema.String })),
  foundRigs: Counts,
  foundRoles: Counts
}) {
  override get message(): string {
    if (this.sessions === 0) {
      const [first] = this.problems
      const more = this.problems.length > 1 ? ` (and ${this.problems.length - 1} more)` : ""
      const why = first === undefined ? "" : `: ${first.path}: ${first.reason}${more}`
      return `no sessions found${why}; name files or directories with --sessions`
    }
    const asked = [...this.rigs.map((rig) => `--rig ${rig}`), ...this.roles.map((role) => `--role ${role}`)]
    return `none of ${this.sessions} sessions matches ${asked.join(" ")}; rigs found: ${list(this.foundRigs)}; roles found: ${list(this.foundRoles)}`
  }

  override get [Runtime.errorExitCode](): number {
    return 2
  }
}

/** The output directory holds files of somebody else; nothing was written. */
export class OutputNotOurs extends Schema.TaggedError<OutputNotOurs>()("OutputNotOurs", {
  path: Schema.String,
  /** Some of them. */
  files: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `${this.path} holds files that no earlier extract wrote (${this.files.join(", ")}); choose an empty or new directory with --out, or move them away`
  }
}

/** A plan, or a shard of one, that does not belong to this dataset; nothing was written. Exit status 2. */
export class PlanMismatch extends Schema.TaggedError<PlanMismatch>()("PlanMismatch", {
  /** The plan's file, or the shard's directory. */
  path: Schema.String,
  issue: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.issue}`
  }

  override get [Runtime.errorExitCode](): number {
    return 2
  }
}
