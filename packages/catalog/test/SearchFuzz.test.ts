/**
 * Compares search with a naive search that parses every line and compares every text, for random spellings of JSON and
 * random sizes of the pieces of a file. `PI_SESSIONS_FUZZ`: sessions to search.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Effect, Layer, Result, Stream } from "effect"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { CatalogSession } from "../src/CatalogSession.ts"
import { SearchFiles } from "../src/SearchFiles.ts"
import * as SearchPattern from "../src/SearchPattern.ts"
import type { SearchScope } from "../src/SearchScope.ts"
import { SessionSearch } from "../src/SessionSearch.ts"
import { type PlainText, plainTexts, randomEntry, randomText, spell } from "./support/searchModel.ts"

type Random = SeededRandom.SeededRandom

const CASES = Dose.of("PI_SESSIONS_FUZZ", { test: 250, campaign: 20_000 })
const FIRST = Dose.firstSeed()

const session: CatalogSession = {
  path: "/s.jsonl",
  sizeBytes: 0,
  modifiedMs: 0,
  format: "jsonl",
  id: "s",
  cwd: "/",
  timestamp: ""
}

/** A file in memory that is read in pieces of random size. */
const layerOf = (random: Random, bytes: Uint8Array) =>
  SessionSearch.layer.pipe(
    Layer.provide(
      Layer.succeed(
        SearchFiles,
        SearchFiles.of({
          read: (_path, sink) =>
            Effect.sync(() => {
              const most = random.chance(0.3) ? bytes.length + 1 : 1 + random.int(200)
              for (let at = 0; at < bytes.length;) {
                const room = sink.room()
                const part = bytes.subarray(at, at + Math.min(room.length, 1 + random.int(most)))
                room.set(part)
                at += part.length
                if (!sink.take(part.length)) return
              }
            })
        })
      )
    ),
    Layer.provide(Layer.mock(SessionSource, {}))
  )

type Found = readonly [byteOffset: number, kind: string, matches: string]

const search = (random: Random, bytes: Uint8Array, pattern: SearchPattern.SearchPattern, scope: SearchScope) =>
  Effect.gen(function* () {
    const service = yield* SessionSearch
    const hits = yield* Stream.runCollect(
      service.search({ sessions: [session], pattern, scope, positions: random.chance(0.1) })
    )
    return hits.map((hit): Found => [hit.byteOffset, hit.kind, JSON.stringify(hit.matches)])
  }).pipe(Effect.provide(layerOf(random, bytes)))

/** The naive search. */
const plainly = (
  entries: ReadonlyArray<readonly [byteOffset: number, value: unknown]>,
  find: (text: string) => ReadonlyArray<SearchPattern.TextRange>,
  scope: string
): ReadonlyArray<Found> =>
  entries.toReversed().flatMap(([byteOffset, value]) =>
    plainTexts(value, scope).flatMap(({ kind, text }: PlainText): ReadonlyArray<Found> => {
      const matches = find(text)
      return matches.length === 0 ? [] : [[byteOffset, kind, JSON.stringify(matches)]]
    })
  )

/** Matches by JavaScript alone. */
const plainFind = (source: string, flags: string | undefined) => (text: string) => {
  const ranges: Array<SearchPattern.TextRange> = []
  if (flags === undefined) {
    for (let at = text.indexOf(source); at >= 0; at = text.indexOf(source, at + source.length)) {
      ranges.push({ start: at, end: at + source.length })
    }
  } else {
    for (const match of text.matchAll(new RegExp(source, flags))) {
      ranges.push({ start: match.index, end: match.index + match[0].length })
    }
  }
  return ranges
}

interface Wanted {
  readonly pattern: SearchPattern.SearchPattern
  readonly find: (text: string) => ReadonlyArray<SearchPattern.TextRange>
}

const otherCase = (random: Random, text: string): string =>
  Array.from(text, (character) => (random.chance(0.5) ? character.toUpperCase() : character.toLowerCase())).join("")

/** A pattern, usually from one of the texts. */
const wantedIn = (random: Random, texts: ReadonlyArray<string>): Wanted | undefined => {
  const characters = Array.from(texts[random.int(texts.length)] ?? "")
  const from = random.int(characters.length)
  const length = random.chance(0.2) ? 1 : 1 + random.int(8)
  const part = random.chance(0.85)
    ? characters.slice(from, from + length).join("")
    : randomText(random, 1 + random.int(4))
  if (part === "") return undefined
  const ignoreCase = random.chance(0.5)
  const literal = ignoreCase && random.chance(0.5) ? otherCase(random, part) : part
  const rule = ignoreCase ? "ignore" : "sensitive"
  const escaped = literal.replace(/[\^$\\.*+?()[\]{}|/]/gu, String.raw`\$&`)
  if (random.chance(0.6)) {
    return {
      pattern: Result.getOrThrow(SearchPattern.make(literal, { case: rule })),
      find: plainFind(ignoreCase ? escaped : literal, ignoreCase ? "giu" : undefined)
    }
  }
  const pieces = Array.from(literal, (character) =>
    character.replace(/[\^$\\.*+?()[\]{}|/]/u, String.raw`\$&`)
  ).flatMap((character) => [
    character,
    random.weighted<string>(
      [12, ""],
      [1, "?"],
      [1, "+"],
      [1, "*"],
      [1, "{1,2}"],
      [1, "."],
      [1, "(a|b)?"],
      [1, "[^a]?"],
      [1, String.raw`\s*`]
    )
  ])
  const source = pieces.join("").replaceAll("\n", String.raw`\n`) + (random.chance(0.05) ? "|a" : "")
  const pattern = SearchPattern.make(source, { case: rule, regex: true })
  // Adjacent quantifiers are invalid.
  if (Result.isFailure(pattern)) return undefined
  return {
    pattern: pattern.success,
    find: plainFind(source, ignoreCase ? "gimu" : "gmu")
  }
}

interface Written {
  readonly bytes: Buffer
  readonly entries: ReadonlyArray<readonly [byteOffset: number, value: unknown]>
  readonly texts: ReadonlyArray<string>
}

/** A session file with random entries. */
const write = (random: Random): Written => {
  const texts: Array<string> = []
  const text = (): string => {
    const long = random.chance(0.002)
    const made =
      randomText(random, random.int(20)) + (long ? "x".repeat(random.int(200_000)) : "") + randomText(random, 3)
    texts.push(made)
    return made
  }
  const calm = random.pick([1, 0.98, 0.8, 0.2])
  const newline = random.chance(0.2) ? "\r\n" : "\n"
  const parts: Array<Buffer> = []
  let size = 0
  const add = (line: string): number => {
    const at = size
    const part = Buffer.from(line)
    parts.push(part)
    size += part.length
    return at
  }
  if (random.chance(0.1)) add("\ufeff")
  add(`{"type":"session","version":3,"id":"s","cwd":"/"}${newline}`)
  const entries: Array<readonly [number, unknown]> = []
  const count = 1 + random.int(8)
  for (let line = 0; line < count; line++) {
    if (random.chance(0.1)) add(newline)
    const entry = randomEntry(random, `e${line}`, text)
    const isLast = line === count - 1 && random.chance(0.3)
    const json = spell(random, entry, calm)
    const at = add(`${json}${isLast ? "" : newline}`)
    entries.push([at, JSON.parse(json)])
  }
  return { bytes: Buffer.concat(parts), entries, texts }
}

const SCOPES = ["prompts", "conversations", "all"] as const

describe("search", () => {
  it.live("finds what parsing every line finds", () =>
    Effect.gen(function* () {
      let hits = 0
      let withNeedle = 0
      for (let seed = FIRST; seed < FIRST + CASES; seed++) {
        const random = SeededRandom.make(seed)
        const { bytes, entries, texts } = write(random)
        for (let round = 0; round < 4; round++) {
          const wanted = wantedIn(random, texts)
          if (wanted === undefined) continue
          const scope = random.pick(SCOPES)
          const found = yield* search(random, bytes, wanted.pattern, scope)
          const expected = plainly(entries, wanted.find, scope)
          hits += expected.length
          if (wanted.pattern.needle !== undefined) withNeedle++
          assert.deepStrictEqual(found, expected, `seed ${seed}: ${JSON.stringify(wanted.pattern.source)} in ${scope}`)
        }
      }
      process.stdout.write(`Search: ${CASES} sessions, ${withNeedle} searches by a needle, ${hits} hits\n`)
      assert.isAbove(hits, CASES)
      assert.isAbove(withNeedle, CASES)
    })
  )

  it.live("finds in damaged lines what the reader recovers from them", () =>
    Effect.gen(function* () {
      let recovered = 0
      for (let seed = FIRST; seed < FIRST + CASES / 2; seed++) {
        const random = SeededRandom.make(-seed)
        const written = write(random)
        const bytes = Buffer.from(damage(random, written.bytes))
        const entries = Session.read(Buffer.from(bytes)).tree.getEntries()
        recovered += entries.filter((entry) => entry.recovered).length
        for (let round = 0; round < 4; round++) {
          const wanted = wantedIn(random, written.texts)
          if (wanted === undefined) continue
          const scope = random.pick(SCOPES)
          const found = yield* search(random, bytes, wanted.pattern, scope)
          const values = entries.map((entry) => [entry.byteOffset, entry.decode()] as const)
          const expected = plainly(values, wanted.find, scope)
          assert.deepStrictEqual(found, expected, `seed ${seed}: ${JSON.stringify(wanted.pattern.source)} in ${scope}`)
        }
      }
      assert.isAbove(recovered, CASES / 10)
    })
  )
})

/** Lines glued and torn, bytes lost and added. */
const damage = (random: Random, bytes: Buffer): Uint8Array => {
  let damaged: Buffer = bytes
  for (let times = 1 + random.int(3); times > 0; times--) {
    const at = random.int(damaged.length + 1)
    const newline = damaged.indexOf(0x0a, at)
    damaged = random.weighted<() => Buffer>(
      [4, () => (newline < 0 ? damaged : Buffer.concat([damaged.subarray(0, newline), damaged.subarray(newline + 1)]))],
      [
        2,
        () => Buffer.concat([damaged.subarray(0, at), damaged.subarray(Math.min(damaged.length, at + random.int(40)))])
      ],
      [1, () => Buffer.concat([damaged.subarray(0, at), Buffer.from([random.int(256)]), damaged.subarray(at)])],
      [
        1,
        () =>
          Buffer.concat([
            damaged.subarray(0, at),
            Buffer.from('\n{"type":"session","id":"t"}\n42\n'),
            damaged.subarray(at)
          ])
      ],
      [1, () => damaged.subarray(0, at)]
    )()
  }
  return damaged
}
