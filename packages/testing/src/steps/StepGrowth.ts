/**
 * Whether readers of text need steps in proportion to its length, for every family of hostile texts.
 *
 * Steps are counted (see StepCounter) at three lengths, each twice the one before. A reader is linear if the last doubling
 * takes at most 2.2 times the steps and both at most 2.2 times 2.2, or if it needs fewer steps for each character than a
 * quadratic one could.
 */
import { type HostileText, families } from "./HostileText.ts"
import { type StepCounter } from "./StepCounter.ts"

export interface TextReader {
  readonly name: string
  /** Throws, or rejects, for no text. */
  readonly read: (text: string) => unknown
  /** The shortest of the three lengths. Default: 512. More for a reader whose window is longer than that. */
  readonly length?: number
  /** Steps for each character that are allowed at most. Default: 1000. */
  readonly most?: number
}

/** A text for which a reader is not linear, with the steps at each length. */
export interface SteepText {
  readonly family: string
  readonly steps: ReadonlyArray<number>
}

/** Texts that most quadratic readers are quadratic for. */
const ALWAYS = /^(?:U\+(?:0009|000D|0020|00A0|2028)|"(?:a|=|a=|1|\\\\|\(|@@@)") repeated(?: between words)?$/u

/** One of how many families is tried by default. */
const SAMPLE = 20

/**
 * The texts that tests try: a sample, another one for another `PI_SESSIONS_SEED`, or all of them with
 * `PI_SESSIONS_HOSTILE_TEXTS=all`.
 */
export const sampleOf = (texts: ReadonlyArray<HostileText>): ReadonlyArray<HostileText> => {
  if (process.env["PI_SESSIONS_HOSTILE_TEXTS"] === "all") return texts
  const seed = Number(process.env["PI_SESSIONS_SEED"] ?? 0) % SAMPLE
  return texts.filter(({ name }, at) => at % SAMPLE === seed || ALWAYS.test(name))
}

/** The sample of all families. */
export const hostileTexts: ReadonlyArray<HostileText> = sampleOf(families)

const GROWTH_MAX = 2.2

/** Steps for each character below which a growth is not examined. */
const CHEAP = 24

/** More are not looked for. */
const ENOUGH = 5

/** Texts whose blocks are counted together: taking the counts costs more than reading a text. */
const GROUP = 24

/** The texts for which a reader is not linear. */
export const steepTexts = async (
  counter: StepCounter,
  reader: TextReader,
  texts: ReadonlyArray<HostileText> = families
): Promise<ReadonlyArray<SteepText>> => {
  const steep: Array<SteepText> = []
  // What is compiled or cached once is not counted.
  for (const { text } of texts.slice(0, GROUP)) await reader.read(text(64))
  for (let at = 0; at < texts.length; at += GROUP) {
    const group = texts.slice(at, at + GROUP)
    const counted = await counts(counter, reader, group)
    for (const [index, steps] of counted.native.entries()) {
      if (isSteep(reader, steps, 1)) steep.push({ family: group[index]?.name ?? "", steps })
    }
    if (steep.length >= ENOUGH) return steep
    if (!isSteep(reader, counted.blocks, group.length)) continue
    for (const one of group) {
      const { blocks } = await counts(counter, reader, [one])
      if (isSteep(reader, blocks, 1)) steep.push({ family: one.name, steps: blocks })
    }
  }
  return steep
}

/** By length: the native steps of each text, and the blocks of all. */
const counts = async (
  counter: StepCounter,
  reader: TextReader,
  group: ReadonlyArray<HostileText>
): Promise<{ readonly native: ReadonlyArray<ReadonlyArray<number>>; readonly blocks: ReadonlyArray<number> }> => {
  const native: Array<Array<number>> = group.map(() => [])
  const blocks: Array<number> = []
  for (const length of lengthsOf(reader)) {
    const texts = group.map(({ text }) => text(length))
    counter.takeBlocks()
    for (const [index, text] of texts.entries()) {
      native[index]?.push(await counter.countNative(() => reader.read(text), group[index]?.name))
    }
    blocks.push(counter.takeBlocks())
  }
  return { native, blocks }
}

const lengthsOf = ({ length = 512 }: TextReader): readonly [number, number, number] => [length, 2 * length, 4 * length]

const isSteep = (
  reader: TextReader,
  [quarter = 0, half = 0, all = 0]: ReadonlyArray<number>,
  texts: number
): boolean => {
  const perCharacter = all / (lengthsOf(reader)[2] * texts)
  if (perCharacter > (reader.most ?? 1000)) return true
  // Both doublings: something may be allocated at one length only.
  return perCharacter > CHEAP && all > GROWTH_MAX * half && all > GROWTH_MAX ** 2 * quarter
}
