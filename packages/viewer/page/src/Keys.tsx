/** Keys of the page: each visible part registers its keys, and the help lists all registered keys. */
import { type JSX } from "preact"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"

/** A key, or two keys pressed one after the other with a space between them: what it does, for the help, and the action. */
export type KeyMap = { readonly [keys: string]: readonly [what: string, act: () => void] }

/** The keys of all visible parts; later parts take precedence. */
const maps: Array<{ current: KeyMap }> = []
/** The first key of a pair that may follow. */
let began = ""

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable)

/** Whether the key activates the focused button or link. */
const isActivation = ({ key, target }: KeyboardEvent): boolean =>
  (key === "Enter" || key === " ") && target instanceof Element && target.closest("a, button, summary") !== null

const onKeyDown = (event: KeyboardEvent): void => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isActivation(event)) return
  if (isTyping(event.target)) {
    if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur()
    return
  }
  if (document.querySelector("dialog[open]") !== null) return
  const tries = began === "" ? [event.key] : [`${began} ${event.key}`, event.key]
  // A key can act by itself and begin a pair: `g` goes to the beginning, `g l` to the list.
  const isBeginning = maps.some(({ current }) => Object.keys(current).some((one) => one.startsWith(`${event.key} `)))
  began = isBeginning ? event.key : ""
  for (const keys of tries) {
    for (const { current } of maps.toReversed()) {
      const found = current[keys]
      if (found === undefined) continue
      event.preventDefault()
      if (keys !== event.key) began = ""
      found[1]()
      return
    }
  }
}

/** Registers keys while the part is visible. */
export const useKeys = (map: KeyMap): void => {
  const ref = useRef(map)
  ref.current = map
  // A layout effect, because a key can follow at once.
  useLayoutEffect(() => {
    if (maps.length === 0) addEventListener("keydown", onKeyDown)
    maps.push(ref)
    return () => {
      maps.splice(maps.indexOf(ref), 1)
      if (maps.length === 0) removeEventListener("keydown", onKeyDown)
    }
  }, [])
}

export const KeyHelp = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const all = new Map(maps.flatMap(({ current }) => Object.entries(current).map(([keys, [what]]) => [keys, what])))
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="keys">
      <h2>Keys</h2>
      <dl class="keys">
        {[...all].map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}

/** Keys to step through a list. */
export const stepKeys = (what: string, step: (by: number) => void): KeyMap => ({
  j: [`next ${what}`, () => step(1)],
  k: [`previous ${what}`, () => step(-1)],
  ArrowDown: [`next ${what}`, () => step(1)],
  ArrowUp: [`previous ${what}`, () => step(-1)]
})

/** Keys to accept and reject; none if marks cannot be set. */
export const markKeys = (
  [accept, reject]: readonly [accept: string, reject: string],
  what: string,
  mark: ((wanted: "accept" | "reject") => void) | undefined
): KeyMap =>
  mark === undefined
    ? {}
    : {
        [accept]: [`accept the ${what}`, () => mark("accept")],
        [reject]: [`reject the ${what}`, () => mark("reject")]
      }
