/** Long results on stdout: how wide and how colourful they may be there, and writing them in pieces. */
import * as Effect from "effect/Effect"
import type * as PlatformError from "effect/PlatformError"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as Interruption from "../Interruption.ts"

export interface Layout {
  readonly isTerminal: boolean
  /** Lines are made to fit into so many columns; undefined where they are left as they are. */
  readonly columns: number | undefined
  readonly colours: boolean
}

const USUAL_COLUMNS = 80
/** Below this nothing can be read any more. */
const LEAST_COLUMNS = 20

/** A terminal's width and colours (`NO_COLOR` and `TERM=dumb` are obeyed); neither for a pipe, unless a width is asked for. */
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

/** Text in a colour, where there are colours. */
export const paint = (layout: Layout, ink: Ink | undefined, text: string): string =>
  layout.colours && ink !== undefined && text !== "" ? `\u001b[${CODES[ink]}m${text}\u001b[0m` : text

/** A path to go on with: in a pipe the very path, at a terminal with what could steer it made visible. */
export const pathText = (layout: Layout, path: string): string => (layout.isTerminal ? TerminalText.exact(path) : path)

/** A value as JSON in which nothing steers a terminal. */
export const json = (value: unknown, indent?: number): string => TerminalText.json(JSON.stringify(value, null, indent))

/** Pieces are joined up to so many characters before they are written. */
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
      // To make a piece is work that nothing interrupts.
      Stream.tap(() => Effect.yieldNow)
    )
  ).pipe(Effect.andThen(Interruption.point))

/** Writes texts and bytes as they come. Who reads us may have enough (head, a pager): that is no failure, and no more is made. */
export const stream = (pieces: Stream.Stream<string | Uint8Array>) =>
  Effect.flatMap(Stdio.Stdio, (stdio) => Stream.run(pieces, stdio.stdout({ endOnDone: false }))).pipe(
    Effect.catchReason("PlatformError", "Unknown", (reason, error) =>
      isBrokenPipe(reason.cause) ? Effect.void : Effect.fail(error)
    )
  )

const isBrokenPipe = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "EPIPE"

/** Writes lines as they are made. */
export const lines = (lines: Iterable<string>): Effect.Effect<void, PlatformError.PlatformError, Stdio.Stdio> =>
  write(batches(lines))

/** Writes bytes as they are. */
export const bytes = (pieces: Iterable<Uint8Array>): Effect.Effect<void, PlatformError.PlatformError, Stdio.Stdio> =>
  write(pieces)
