/** Positions of a session's entries in its tree. Keeps ids and parents, not the lines. */
import * as EntryId from "@pi-sessions/core/EntryId"
import { stringAt, objectAt } from "@pi-sessions/core/Json"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as Session from "@pi-sessions/core/Session"
import { CURRENT_VERSION, versionOf } from "@pi-sessions/core/SessionHeader"
import { HeaderLine, SessionEntry, type SessionLine, ValueLine } from "@pi-sessions/core/SessionLine"
import { SessionTree } from "@pi-sessions/core/SessionTree"
import type { BranchPosition } from "../../SearchHit.ts"

/** The first version whose entries have parents. Before it a session is a list. */
const TREE_VERSION = 2

const NOTHING = Uint8Array.of(0x0a)

interface Place {
  readonly position: BranchPosition
  readonly model: string | undefined
}

/** Takes a session's lines in file order, then answers questions about entries, by their offset in the file. */
export class BranchMap {
  readonly #withModels: boolean
  readonly #entries: Array<SessionEntry> = []
  /** The model that an entry sets, by the entry's offset. */
  readonly #models = new Map<number, string>()
  #leafless: ReadonlyArray<PiProfile> = []
  #version: number | undefined
  #sessionId = ""
  /** Derived ids of version 1 entries, by offset. */
  readonly #ids = new Map<number, string>()
  readonly #given = new Set<string>()
  #tree: SessionTree | undefined
  /** Depths on the active branch, by offset. */
  #active: Map<number, number> | undefined
  #places: Map<number, Place> | undefined

  constructor(withModels: boolean) {
    this.#withModels = withModels
  }

  /** Adds a line without keeping its bytes. Its offset in the file is `line.byteOffset + moved`. */
  push(line: SessionLine, moved = 0): void {
    if (line instanceof HeaderLine && this.#version === undefined) {
      const header = line.decode()
      this.#version = versionOf(header)
      this.#sessionId = String(header["id"])
    }
    if (line instanceof ValueLine) this.#leafless = Session.leaflessWith(this.#leafless, line)
    if (!(line instanceof SessionEntry)) return
    this.#leafless = []
    const { id, nullId, parentId, recovered, role, type } = line
    const byteOffset = line.byteOffset + moved
    if (this.#withModels) {
      const model = modelSetBy(line)
      if (model !== undefined) this.#models.set(byteOffset, model)
    }
    if (!this.#isTree()) {
      const given = EntryId.derive(this.#given, this.#sessionId, String(this.#given.size), line.bytes)
      this.#given.add(given)
      this.#ids.set(byteOffset, given)
    }
    const envelope = { type, id, parentId, role, timestamp: undefined, recovered, nullId }
    this.#entries.push(new SessionEntry(NOTHING, 0, 0, line.line, byteOffset, true, envelope))
  }

  /** Undefined for an entry whose id a later entry repeats. */
  positionAt(byteOffset: number): BranchPosition | undefined {
    return this.#isTree()
      ? (this.#activeAt(byteOffset) ?? this.#placeAt(byteOffset)?.position)
      : this.#placeAt(byteOffset)?.position
  }

  /** The id that `SessionMigration` derives for a version 1 entry; undefined in other versions. */
  givenIdAt(byteOffset: number): string | undefined {
    return this.#ids.get(byteOffset)
  }

  /** The model that wrote the entry, else the one selected at that time, as `provider/model`. */
  modelAt(byteOffset: number): string | undefined {
    return this.#placeAt(byteOffset)?.model
  }

  #isTree(): boolean {
    return (this.#version ?? CURRENT_VERSION) >= TREE_VERSION
  }

  /** The active branch is cheaper than the whole tree, and most hits are on it. */
  #activeAt(byteOffset: number): BranchPosition | undefined {
    const depth = this.#activeDepths().get(byteOffset)
    return depth === undefined ? undefined : { active: true, depth, leafId: this.#wholeTree().leafId }
  }

  #wholeTree(): SessionTree {
    return (this.#tree ??= SessionTree.make(this.#entries, this.#leafless))
  }

  #activeDepths(): ReadonlyMap<number, number> {
    return (this.#active ??= new Map(
      this.#wholeTree()
        .getBranch()
        .map((entry, depth) => [entry.byteOffset, depth])
    ))
  }

  #placeAt(byteOffset: number): Place | undefined {
    this.#places ??= this.#isTree() ? this.#inATree() : this.#inARow()
    return this.#places.get(byteOffset)
  }

  #inARow(): Map<number, Place> {
    const places = new Map<number, Place>()
    let model: string | undefined
    for (const [depth, { byteOffset }] of this.#entries.entries()) {
      model = this.#models.get(byteOffset) ?? model
      places.set(byteOffset, { position: { active: true, depth, leafId: null }, model })
    }
    return places
  }

  #inATree(): Map<number, Place> {
    const tree = this.#wholeTree()
    const parents = new Map<SessionEntry, SessionEntry>()
    const order = [...tree.roots()]
    for (let at = 0; at < order.length; at++) {
      const entry = order[at]!
      for (const child of entry.id === null ? [] : tree.children(entry.id)) {
        parents.set(child, entry)
        order.push(child)
      }
    }

    const leaf = tree.getLeafEntry()
    const leafOf = new Map<SessionEntry, string | null>()
    for (const end of [...(leaf === undefined ? [] : [leaf]), ...tree.leaves().toReversed()]) {
      for (let at: SessionEntry | undefined = end; at !== undefined && !leafOf.has(at); at = parents.get(at)) {
        leafOf.set(at, end.id)
      }
    }

    const places = new Map<number, Place>()
    for (const entry of order) {
      const { byteOffset } = entry
      const parent = parents.get(entry)
      const before = parent === undefined ? undefined : places.get(parent.byteOffset)
      const leafId = leafOf.get(entry) ?? null
      places.set(byteOffset, {
        position: {
          active: this.#activeDepths().has(byteOffset),
          depth: before === undefined ? 0 : before.position.depth + 1,
          leafId
        },
        model: this.#models.get(byteOffset) ?? before?.model
      })
    }
    return places
  }
}

const modelSetBy = (entry: SessionEntry): string | undefined => {
  if (entry.type === "model_change") {
    const change = entry.decode()
    return nameOf(stringAt(change, "provider"), stringAt(change, "modelId"))
  }
  if (entry.role !== "assistant") return undefined
  const message = objectAt(entry.decode(), "message") ?? {}
  return nameOf(stringAt(message, "provider"), stringAt(message, "model"))
}

const nameOf = (provider: string | undefined, model: string | undefined): string | undefined =>
  model === undefined ? undefined : provider === undefined ? model : `${provider}/${model}`

/** Whether `wanted` names the model, by its name or as `provider/name`. */
export const isModel = (wanted: string, model: string | undefined): boolean =>
  model !== undefined && (model === wanted || model.endsWith(`/${wanted}`))
