/**
 * A small store with a flipped bit, with a truncated file, and with a missing file: the damage is reported, no reader
 * returns a wrong entry, and opening for writing loses nothing without a copy. A campaign damages every byte. Lock files
 * are not on the simulated disk: StoreLock.test.ts has those.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as SegmentFrame from "../../src/wire/SegmentFrame.ts"
import { SessionStore } from "../../src/SessionStore.ts"
import * as Damage from "../support/damage.ts"
import * as settings from "../support/settings.ts"

interface Case {
  readonly name: string
  readonly path: string
  readonly files: Damage.DiskFiles
  readonly deep: boolean
  readonly at: number
}

/** One case in so many is also opened for writing, which takes ten times as long. */
const DEEP = settings.isCampaign ? 3 : 11

/** Number of bytes to damage. */
const CASES = settings.fuzz({ test: 220, campaign: 20_000 })

const filesOf = (sound: Damage.Sound): ReadonlyArray<readonly [path: string, bytes: Uint8Array]> =>
  // The source of a migration is not part of the store.
  Object.entries(sound.files).filter(([path]) => !path.endsWith("/") && path !== "/d/s.jsonl")

/** Every byte of the files. */
const placesIn = (sound: Damage.Sound) =>
  filesOf(sound).flatMap(([path, bytes]) => Array.from(bytes, (_, at) => ({ path, bytes, at })))

function* flips(sound: Damage.Sound): Generator<Case> {
  for (const [count, { at, bytes, path }] of settings.spread(placesIn(sound), CASES).entries()) {
    const broken = Uint8Array.from(bytes)
    const bit = ((count + settings.firstSeed) * 5) % 8
    broken[at] = (broken[at] ?? 0) ^ (1 << bit)
    const name = `${sound.name}: bit ${bit} of byte ${at} of ${path}`
    yield { name, path, at, files: { ...sound.files, [path]: broken }, deep: count % DEEP === 0 }
  }
}

function* truncations(sound: Damage.Sound): Generator<Case> {
  // A file that is truncated at the end of a record looks whole.
  const isBorder = ({ at, bytes }: { at: number; bytes: Uint8Array }) =>
    at === 0 || [bytes[at - 2], bytes[at - 1], bytes[at]].includes(0x0a)
  const places = placesIn(sound)
  const borders = settings.spread(places.filter(isBorder), CASES / 5)
  for (const [count, place] of [...borders, ...settings.spread(places, CASES / 2)].entries()) {
    const { at, bytes, path } = place
    const name = `${sound.name}: ${path} truncated to ${at} bytes`
    yield {
      name,
      path,
      at,
      files: { ...sound.files, [path]: bytes.subarray(0, at) },
      deep: count % DEEP === 0 || isBorder(place)
    }
  }
}

/** Bytes of the index that the manifest counts. */
const promisedIndexBytes = (sound: Damage.Sound): number =>
  JSON.parse(Buffer.from(sound.files["/d/s1.v2/manifest.json"] ?? []).toString("utf8")).index.byte_length

const kindOf = (path: string): string => path.replace(/^\/d\/s1\.(v2\/)?/, "").replace(/[0-9]{16}/, "N")

const run = Effect.fnUntraced(function* (sound: Damage.Sound, cases: Generator<Case>, silent: (one: Case) => boolean) {
  const counts = new Map<string, Map<string, number>>()
  const unnoticed: Array<string> = []
  let total = 0
  let deep = 0
  for (const one of cases) {
    const outcome = yield* Damage.examine(sound, one.path, one.files, one.name, one.deep)
    total++
    if (!outcome.noticed && !silent(one)) unnoticed.push(one.name)
    // Everything except frames and marker can be rebuilt or ignored.
    if (!/segments|active/.test(one.path)) assert.strictEqual(outcome.readable, sound.entries.length, one.name)
    if (!one.deep) continue
    deep++
    const ofKind = counts.get(kindOf(one.path)) ?? new Map<string, number>()
    const what = `${outcome.opened}, ${outcome.readable} of ${sound.entries.length} entries`
    ofKind.set(what, (ofKind.get(what) ?? 0) + 1)
    counts.set(kindOf(one.path), ofKind)
  }
  settings.note(`DamagedStore, ${sound.name}: ${total} cases, ${deep} of them opened for writing`)
  for (const [kind, ofKind] of counts)
    settings.note(`  ${kind}: ${[...ofKind].map(([what, n]) => `${n} ${what}`).join(" | ")}`)
  return unnoticed
})

describe.each([
  { name: "settled", make: Damage.settled },
  { name: "open", make: Damage.open }
])("a store that was closed $name", ({ make }) => {
  it.effect(
    "has no finding and opens unchanged without damage",
    Effect.fnUntraced(function* () {
      const sound = yield* make
      const outcome = yield* Damage.examine(sound, "", sound.files, sound.name, true)
      assert.deepStrictEqual(outcome, { noticed: false, readable: sound.entries.length, opened: "whole", reason: "" })
    })
  )

  it.effect(
    "with a flipped bit: reports it, returns no wrong entry, and loses no byte without a copy",
    Effect.fnUntraced(function* () {
      const sound = yield* make
      assert.deepStrictEqual(yield* run(sound, flips(sound), () => false), [])
    })
  )

  it.effect(
    "with a truncated file: reports it, returns no wrong entry, and loses no byte without a copy",
    Effect.fnUntraced(function* () {
      const sound = yield* make
      // Undetectable: the newline after a document, and index rows that the manifest does not count yet.
      const silent = ({ at, path }: Case): boolean =>
        path.endsWith(".json")
          ? at === (sound.files[path]?.length ?? 0) - 1
          : path.endsWith("offsets.jsonl") && sound.name === "open" && at === promisedIndexBytes(sound)
      assert.deepStrictEqual(yield* run(sound, truncations(sound), silent), [])
    })
  )

  it.effect(
    "with a missing file: reports it",
    Effect.fnUntraced(function* () {
      const sound = yield* make
      const cases = function* (): Generator<Case> {
        for (const [path] of filesOf(sound)) {
          const files = Object.fromEntries(Object.entries(sound.files).filter(([name]) => name !== path))
          yield { name: `${sound.name}: ${path} is missing`, path, files, deep: true, at: 0 }
        }
      }
      assert.deepStrictEqual(yield* run(sound, cases(), () => false), [])
    })
  )
})

it.effect(
  "a frame that was replaced by another one with a valid checksum breaks the hash chain",
  Effect.fnUntraced(function* () {
    const sound = yield* Damage.settled
    let cases = 0
    for (const [path, given] of filesOf(sound)) {
      if (!path.endsWith(".seg")) continue
      const bytes = Buffer.from(given)
      for (let at = 0; at < bytes.length; cases++) {
        const found = SegmentFrame.decode(bytes, at, bytes.length)
        if (found._tag !== "Frame") return assert.fail(found._tag)
        const payload = Buffer.from(bytes.subarray(found.payloadStart, found.payloadEnd))
        payload[payload.length - 4] = (payload.at(-4) ?? 0) ^ 1
        const other = SegmentFrame.encode(found.frame, payload)
        const files = {
          ...sound.files,
          [path]: Buffer.concat([bytes.subarray(0, at), other, bytes.subarray(found.end)])
        }
        const { result } = yield* Damage.on(
          files,
          Effect.flatMap(SessionStore, (store) => store.verify(Damage.location))
        )
        const report = Result.getOrThrow(result)
        assert.isFalse(report.hashChainMatch)
        assert.include(
          report.findings.map(({ invariant }) => invariant),
          "INV-005",
          `entry_seq ${found.frame.entry_seq}`
        )
        at = found.end
      }
    }
    assert.strictEqual(cases, sound.entries.length + 1)
  })
)

it.effect(
  "an id that two entries have is reported",
  Effect.fnUntraced(function* () {
    const sound = yield* Damage.open
    const path = Object.keys(sound.files).findLast((name) => name.endsWith(".seg")) ?? assert.fail()
    const bytes = Buffer.from(sound.files[path] ?? [])
    let at = 0
    let last: SegmentFrame.FoundFrame | undefined
    while (at < bytes.length) {
      const found = SegmentFrame.decode(bytes, at, bytes.length)
      if (found._tag !== "Frame") return assert.fail(found._tag)
      last = found
      at = found.end
    }
    if (last === undefined) return assert.fail("no frame")
    const { frame } = last
    const twice = SegmentFrame.encode(
      {
        ...frame,
        entry_seq: frame.entry_seq + 1,
        frame_seq: frame.frame_seq + 1,
        prev_hash: SegmentFrame.chainHash(bytes.subarray(last.start, last.end))
      },
      bytes.subarray(last.payloadStart, last.payloadEnd)
    )
    const { result } = yield* Damage.on(
      { ...sound.files, [path]: Buffer.concat([bytes, twice]) },
      Effect.flatMap(SessionStore, (store) => store.verify(Damage.location))
    )
    const findings = Result.getOrThrow(result).findings.map(({ invariant, message }) => `${invariant} ${message}`)
    assert.include(findings, `INV-001 the id ${frame.entry_id} is another entry's already`)
  })
)
