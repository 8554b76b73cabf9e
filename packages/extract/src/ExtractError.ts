/** The errors of `Extract`. */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

const Counts = Schema.Record(Schema.String, Schema.Int)

const list = (counts: { readonly [name: string]: number }): string => {
  const entries = Object.entries(counts).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return entries.length === 0 ? "none" : entries.map(([name, count]) => `${name} (${count})`).join(", ")
}

/** No session was found, or the selectors match none. Nothing was written. Exit status 2. */
export class NothingMatched extends Schema.TaggedError<NothingMatched>()("NothingMatched", {
  /** The selectors. */
  rigs: Schema.Array(Schema.String),
  roles: Schema.Array(Schema.String),
  /** Number of sessions found. */
  sessions: Schema.Int,
  /** Those of them that their time or a mark excludes. */
  otherwiseExcluded: Schema.Int,
  /** Files and directories that are not sessions or could not be read. */
  problems: Schema.Array(Schema.Struct({ path: Schema.String, reason: Schema.String })),
  /** Sessions found, by rig (where they have one) and by role. */
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
    const matching = asked.length === 0 ? "is selected" : `matches ${asked.join(" ")}`
    const excluded =
      this.otherwiseExcluded === 0 ? "" : ` (excluded by --since, --until or --marks: ${this.otherwiseExcluded})`
    return `none of ${this.sessions} sessions ${matching}${excluded}; rigs found: ${list(this.foundRigs)}; roles found: ${list(this.foundRoles)}`
  }

  override get [Runtime.errorExitCode](): number {
    return 2
  }
}

/** The output directory holds files that `extract` did not write. Nothing was written. */
export class OutputNotOurs extends Schema.TaggedError<OutputNotOurs>()("OutputNotOurs", {
  path: Schema.String,
  /** The first of these files. */
  files: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `${this.path} holds files that no earlier extract wrote (${this.files.join(", ")}); choose an empty or new directory with --out, or move them away`
  }
}

/** A plan or shard that does not belong to this dataset. Nothing was written. Exit status 2. */
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
