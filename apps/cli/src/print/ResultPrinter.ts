/** Writes long results to stdout in pieces, with the width and colours of the terminal. */
import * as Effect from "effect/Effect"
import * as PlatformError from "effect/PlatformError"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as Interruption from "../Interruption.ts"

export interface Layout {
  readonly isTerminal: boolean
  /** Width of lines; undefined if lines are not cut or wrapped. */
  readonly columns: number | undefined
  readonly colours: boolean
}

/** Width of a terminal that does not report its own. */
export const USUAL_COLUMNS = 80
/** Narrower lines are unreadable. */
const LEAST_COLUMNS = 20

/** Width and colours of the terminal, by `NO_COLOR` and `TERM` too; none in a pipe, but the width that is asked for. */
export const layout = Effect.fnUntraced(function* (asked?: number) {
  const stdio = yield* Stdio.Stdio
  const terminal = yield* Terminal.Terminal
  const isTerminal = yield* stdio.stdoutIsTerminal
  const { canColor } = yield* TerminalCapabilities.TerminalCapabilities.pipe(
    Effect.provide(TerminalCapabilities.layer, { local: true })
  )
  const columns = asked ?? (isTerminal ? (yield* terminal.columns) || USUAL_COLUMNS : undefined)
  return {
    isTerminal,
    columns: columns === undefined ? undefined : Math.max(columns, LEAST_COLUMNS),
    colours: isTerminal && canColor
  } satisfies Layout
})

/** Colours and styles that results use. */
export type Ink = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan"

const CODES: { readonly [I in Ink]: number } = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36
}

/** Text in a colour, if the layout has colours. */
export const paint = (layout: Layout, ink: Ink | undefined, text: string): string =>
  layout.colours && ink !== undefined && text !== "" ? `\u001b[${CODES[ink]}m${text}\u001b[0m` : text

/** A path as text: unchanged in a pipe; at a terminal, control characters are escaped. */
export const pathText = (layout: Layout, path: string): string => (layout.isTerminal ? TerminalText.exact(path) : path)

/** A value as JSON without control characters. */
export const json = (value: unknown, indent?: number): string => TerminalText.json(JSON.stringify(value, null, indent))

/** Characters that are joined before they are written. */
const BATCH = 1 << 16

function* batches(lines: Iterable<string>): Generator<string> {
  let batch = ""
  for (const line of lines) {
    batch += `${line}\n`
    if (batch.length < BATCH) continue
    yield batch
    batch = ""
  }
  if (batch !== "") yield batch
}

const write = (pieces: Iterable<string | Uint8Array>) =>
  stream(
    Stream.fromIterable(pieces, { chunkSize: 1 }).pipe(
      // Making a piece cannot be interrupted, so a signal is handled between pieces.
      Stream.tap(() => Effect.yieldNow)
    )
  ).pipe(Effect.andThen(Interruption.point))

/** Writes texts and bytes as they come. If the reader closes the pipe (head, a pager), writing ends without an error. */
export const stream = <E, R>(
  pieces: Stream.Stream<string | Uint8Array, E, R>
): Effect.Effect<void, E | PlatformError.PlatformError, R | Stdio.Stdio> =>
  Effect.flatMap(Stdio.Stdio, (stdio) => Stream.run(pieces, stdio.stdout({ endOnDone: false }))).pipe(
    Effect.catchIf(isBrokenPipe, () => Effect.void)
  )

const isBrokenPipe = (error: unknown): boolean => {
  if (!(error instanceof PlatformError.PlatformError) || error.reason._tag !== "Unknown") return false
  const { cause } = error.reason
  return cause instanceof Error && "code" in cause && cause.code === "EPIPE"
}

/** Writes lines as they are made. */
export const lines = (lines: Iterable<string>): Effect.Effect<void, PlatformError.PlatformError, Stdio.Stdio> =>
  write(batches(lines))

/** Writes bytes as they are. */
export const bytes = (pieces: Iterable<Uint8Array>): Effect.Effect<void, PlatformError.PlatformError, Stdio.Stdio> =>
  write(pieces)
