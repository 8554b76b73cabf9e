/** Runs `store verify`. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import * as StoreVerify from "@pi-sessions/store/StoreVerify"
import { CommandFailed } from "../../../Exit.ts"
import { Invocation } from "../../../Invocation.ts"
import { document, mustBeDone, overStores } from "../StoreRun.ts"
import { type StoreInput } from "../../store.ts"
import { type FoundStore, isRetired } from "../StoreSearch.ts"
import { counted } from "../../../print/Words.ts"
import * as StoreServices from "../StoreServices.ts"

interface Verified {
  readonly report: StoreVerify.VerifyReport | undefined
  readonly findings: ReadonlyArray<StoreVerify.Finding>
}

/** Verifies one store. An unreadable marker, and one that names a missing store, are findings too. */
const verify = Effect.fnUntraced(function* (store: FoundStore) {
  const { location } = store
  const path = yield* Path.Path
  if (isRetired(store)) {
    const report = yield* StoreVerify.verify(StoreLayout.of(path, store.container), { sessionId: location.sessionId })
    return { report, findings: report.findings } satisfies Verified
  }
  const fs = yield* FileSystem.FileSystem
  const sessionStore = yield* SessionStore
  const broken = (at: string, byte_offset: number, message: string): Verified => ({
    report: undefined,
    findings: [{ invariant: "INV-007", path: at, byte_offset, message }]
  })
  return yield* sessionStore.verify(location).pipe(
    Effect.map((report): Verified => ({ report, findings: report.findings })),
    Effect.catchTag("StoreDamaged", (error) => Effect.succeed(broken(error.path, error.byteOffset, error.reason))),
    Effect.catchTag("StoreNotFound", (error) =>
      Effect.gen(function* () {
        const active = yield* sessionStore.active(location)
        if (active === undefined) return yield* error
        const file = path.resolve(location.directory, active.path)
        if (yield* fs.exists(file).pipe(Effect.orElseSucceed(() => false))) return yield* error
        return broken(StoreLayout.names(path, location).active, 0, `the active store, ${active.path}, is not there`)
      })
    )
  )
})

const shown = ({ report, findings }: Verified) => ({
  sound: findings.length === 0,
  state: report?.state ?? null,
  entries: report?.entryCount ?? null,
  segments: report?.segmentCount ?? null,
  segmentBytes: report?.segmentBytes ?? null,
  hashChainMatch: report?.hashChainMatch ?? null,
  indexConsistent: report?.indexConsistent ?? null,
  findings: findings.map(({ invariant, path, byte_offset, message }) => ({
    invariant,
    path,
    byteOffset: byte_offset,
    message
  }))
})

export const run = Effect.fnUntraced(function* (input: StoreInput) {
  const invocation = yield* Invocation
  const verified = yield* overStores(input.paths, verify, { retired: true })
  const findings = verified.done.flatMap(({ value }) => value.findings)
  if (input.json) yield* invocation.result(document(verified, shown))
  else for (const finding of findings) yield* invocation.result(StoreVerify.format(finding))
  const broken = verified.done.filter(({ value }) => value.findings.length > 0).length
  if (broken > 0) {
    const where = `${broken} of ${counted(verified.done.length, "store")}`
    return yield* new CommandFailed({ text: `${counted(findings.length, "finding")} in ${where}` })
  }
  yield* mustBeDone(verified, "verified")
  yield* invocation.note(`${counted(verified.done.length, "store")} verified, no findings`)
}, Effect.provide(StoreServices.layer))
