/** Runs `store stat`. */
import * as Effect from "effect/Effect"
import { Invocation } from "../../../Invocation.ts"
import * as Table from "../../../print/Table.ts"
import { document, mustBeDone, overStores } from "../StoreRun.ts"
import { type StoreInput } from "../../store.ts"
import { type FoundStore } from "../StoreSearch.ts"
import { counted } from "../../../print/Words.ts"
import * as StoreServices from "../StoreServices.ts"
import { type StoreStat, stat } from "./StoreStat.ts"

const ratio = ({ bytes }: StoreStat): string =>
  bytes.payload === 0 ? "" : `${(bytes.disk / bytes.payload).toFixed(2)} times the session`

/** Everything about one store, one fact per line. */
const describe = ({ container }: FoundStore, stat: StoreStat): ReadonlyArray<string> => {
  const { active, bytes, checkpoint, entries, ledger, segments, state, trailing } = stat
  const number = (value: number) => value.toLocaleString("en-US")
  const last = ledger.last
  return Table.render(
    ["store", container],
    [
      ["state", state ?? "unknown: the manifest is missing or damaged"],
      ["active", active === null ? "no store: there is no marker" : `${active.path} (${active.format})`],
      ["entries", number(entries)],
      ["session", `${number(bytes.payload)} bytes`],
      ["segments", `${number(segments)}, ${number(bytes.segments)} bytes`],
      ["index", `${number(bytes.index)} bytes`],
      ["on disk", `${number(bytes.disk)} bytes, ${ratio(stat)}`],
      [
        "checkpoint",
        checkpoint === null
          ? "none"
          : `${checkpoint.number}, of ${checkpoint.at}, entries after it: ${number(checkpoint.behind)}`
      ],
      [
        "ledger",
        `${counted(ledger.events, "event")}${last === null ? "" : `, last: ${last.phase} ${last.outcome} at ${last.at}`}`
      ],
      ...(trailing === null ? [] : [["at the end", trailing]])
    ]
  )
}

export const run = Effect.fnUntraced(function* (input: StoreInput) {
  const invocation = yield* Invocation
  const stats = yield* overStores(input.paths, stat)
  const [one] = stats.done
  if (input.json) yield* invocation.result(document(stats, (value) => value))
  else if (one !== undefined && stats.done.length === 1) {
    yield* invocation.result(describe(one.store, one.value).join("\n"))
  } else if (stats.done.length > 0) {
    yield* invocation.result(
      Table.render(
        ["state", "active", "entries", "segments", "session bytes", "on disk", "index", "behind", "events", "store"],
        stats.done.map(({ store, value }) => [
          value.state ?? "unknown",
          value.active?.format ?? "none",
          value.entries,
          value.segments,
          value.bytes.payload,
          value.bytes.disk,
          value.bytes.index,
          value.checkpoint?.behind ?? "no checkpoint",
          value.ledger.events,
          store.container
        ])
      ).join("\n")
    )
  }
  yield* mustBeDone(stats, "could be read")
}, Effect.provide(StoreServices.layer))
