/** Output with ANSI escape sequences. Class names and colours are checked, because the output is not trusted. */
import Anser from "anser"
import { type JSX } from "preact"
import { harmless } from "@pi-sessions/report/TerminalText"
import { Text } from "./Text.tsx"

const ESCAPE = "\u001b["

/** Output of a terminal in its colours. */
export const Terminal = ({ value }: { readonly value: string }): JSX.Element => {
  if (!value.includes(ESCAPE)) return <Text value={value} />
  const spans = Anser.ansiToJson(value, { json: true, remove_empty: true, use_classes: true })
  return (
    <bdi>
      {spans.map(({ bg, bg_truecolor, content, decorations, fg, fg_truecolor }, at) => (
        <span key={at} class={classOf(fg, bg, decorations)} style={styleOf(fg_truecolor, bg_truecolor, fg, bg)}>
          {harmless(content)}
        </span>
      ))}
    </bdi>
  )
}

const NAMED = /^ansi-[a-z-]{1,24}$/u
const TRIPLE = /^\d{1,3}, ?\d{1,3}, ?\d{1,3}$/u

const classOf = (fg: string, bg: string, decorations: ReadonlyArray<string>): string =>
  [
    ...(NAMED.test(fg) ? [fg] : []),
    ...(NAMED.test(bg) ? [`${bg}-bg`] : []),
    ...decorations.filter((one) => /^[a-z]{1,16}$/u.test(one)).map((one) => `ansi-${one}`)
  ].join(" ")

const styleOf = (
  fgTrue: string,
  bgTrue: string,
  fg: string,
  bg: string
): { color?: string; backgroundColor?: string } => {
  const color = (exact: string, name: string): string | undefined => {
    if (TRIPLE.test(exact)) return `rgb(${exact})`
    const [, index] = /^ansi-palette-(\d{1,3})$/u.exec(name) ?? []
    return index === undefined ? undefined : paletteColor(Number(index))
  }
  const front = color(fgTrue, fg)
  const back = color(bgTrue, bg)
  return { ...(front === undefined ? {} : { color: front }), ...(back === undefined ? {} : { backgroundColor: back }) }
}

/** The 216 colours of xterm's cube and its 24 greys; undefined for the 16 colours with names. */
const paletteColor = (index: number): string | undefined => {
  if (index < 16 || index > 255) return undefined
  if (index >= 232) {
    const grey = 8 + 10 * (index - 232)
    return `rgb(${grey}, ${grey}, ${grey})`
  }
  const level = (n: number): number => (n === 0 ? 0 : 55 + 40 * n)
  const cube = index - 16
  return `rgb(${level(Math.floor(cube / 36))}, ${level(Math.floor(cube / 6) % 6)}, ${level(cube % 6)})`
}
