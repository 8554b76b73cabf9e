/** The keyboard: every part of the page says which keys it takes, and the help lists those that work now. */
import { type JSX } from "preact"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"

export type KeyMap = { readonly [keys: string]: readonly [what: string, act: () => void] }

/** The maps of all parts that are shown, the innermost last. */
const maps: Array<{ current: KeyMap }> = []
let began = ""

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable)

/** What the key presses or follows by itself. */
const isPressed = ({ key, target }: KeyboardEvent): boolean =>
  (key === "Enter" || key === " ") && target instanceof Element && target.closest("a, button, summary") !== null

const onKeyDown = (event: KeyboardEvent): void => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isPressed(event)) return
  if (isTyping(event.target)) {
    if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur()
    return
  }
  if (document.querySelector("dialog[open]") !== null) return
  const tries = began === "" ? [event.key] : [`${began} ${event.key}`, event.key]
  // A key may act by itself and begin others too: `g` is the beginning of a conversation, `g l` the list.
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

/** Takes keys for as long as the part is shown; two keys with a blank between are pressed one after the other. */
export const useKeys = (map: KeyMap): void => {
  const ref = useRef(map)
  ref.current = map
  // As soon as the part is there: a key may follow at once.
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
