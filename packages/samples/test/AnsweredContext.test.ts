/** Compares `answeredContext` with its definition, which projects the branch before each compaction, on random branches. */
import { assert, describe, it } from "@effect/vitest"
import { type JsonObject } from "@pi-sessions/core/Json"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { answeredContext } from "../src/internal/answeredContext.ts"
import { type BranchContext } from "../src/SessionFacts.ts"
import { assistant, chain, text, user } from "./support/sessions.ts"

const isAnswer = ({ message }: SessionContext.ContextItem): boolean =>
  message["role"] === "assistant" && message["stopReason"] !== "error"

const expected = (whole: ReadonlyArray<SessionEntry>, profile: PiProfile): BranchContext => {
  let branch = whole
  for (;;) {
    const items = SessionContext.project(branch, profile)
    if (items.some(isAnswer)) return { branch, items }
    const compaction = branch.findLastIndex((entry) => entry.type === "compaction")
    if (compaction < 0) return { branch: whole, items: SessionContext.project(whole, profile) }
    branch = branch.slice(0, compaction)
  }
}

const randomEntries = (random: SeededRandom.SeededRandom): ReadonlyArray<JsonObject> => {
  const length = 1 + random.int(14)
  const anyId = () => `e${random.int(length + 2)}`
  return Array.from({ length }, (): JsonObject => {
    switch (random.int(8)) {
      case 0:
        return assistant([text("a")])
      case 1:
        return assistant([], { stopReason: "error" })
      case 2:
      case 3:
        return { type: "compaction", summary: "s", firstKeptEntryId: anyId() }
      case 4:
      case 5: {
        const replacement = random.chance(0.5) ? null : random.chance(0.5) ? { content: "b" } : "not an edit"
        return { type: "context_edit", targetId: anyId(), replacement }
      }
      default:
        return user("c")
    }
  })
}

describe.each(["0.78", "1.5"] as const)("answeredContext, profile %s", (profile) => {
  it("is the context before the newest compaction that leaves an answer", () => {
    let wentBack = 0
    for (let seed = 1; seed <= 1500; seed++) {
      const branch = Session.readText(chain(...randomEntries(SeededRandom.make(seed)))).tree.getBranch()
      const actual = answeredContext(branch, profile)
      assert.deepStrictEqual(actual, expected(branch, profile), `seed ${seed}`)
      if (actual.branch.length < branch.length) wentBack++
    }
    assert.isAbove(wentBack, 100)
  })
})
