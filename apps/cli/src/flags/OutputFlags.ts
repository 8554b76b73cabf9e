/** Flags that choose the form of the output. */
import * as FlagKinds from "./FlagKinds.ts"

export const json = (what = "Print one JSON document") => FlagKinds.on("json", what)

export const ndjson = (what = "Print one JSON object per line") => FlagKinds.on("ndjson", what)

/** `inPipe` is the default if stdout is not a terminal. */
export const width = (what: string, inPipe = "unlimited") =>
  FlagKinds.int(
    "width",
    "COLUMNS",
    `${what} at this many columns, at least 20. Default: the terminal's width; ${inPipe} in a pipe.`
  )
