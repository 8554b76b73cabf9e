/** Kinds of flags: switches, texts and whole numbers. */
import * as Flag from "effect/cli/Flag"

/** A switch. Default: off. */
export const on = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** An optional text. */
export const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

/** A text that can be repeated. */
export const texts = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.atLeast(0))

/** An optional whole number. */
export const int = (name: string, metavar: string, description: string) =>
  Flag.Int(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)
