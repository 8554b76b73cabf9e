/** Which entries of a conversation are open. */
import { useState } from "preact/hooks"

export interface OpenEntries {
  readonly isOpen: (entry: number) => boolean
  readonly toggle: (entry: number) => void
  /** Reverses every entry. */
  readonly toggleAll: () => void
}

export const useOpenEntries = (): OpenEntries => {
  /** The entries that differ from `isAllOpen`. */
  const [toggled, setToggled] = useState<ReadonlySet<number>>(new Set())
  const [isAllOpen, setAllOpen] = useState(false)
  return {
    isOpen: (entry) => toggled.has(entry) !== isAllOpen,
    toggle: (entry) =>
      setToggled((before) => {
        const after = new Set(before)
        if (!after.delete(entry)) after.add(entry)
        return after
      }),
    toggleAll: () => setAllOpen((is) => !is)
  }
}
