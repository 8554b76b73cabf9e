/** Detects roles from headers, beacons and primes of a session's opening. */
import { assert, describe, it } from "@effect/vitest"
import * as Session from "@pi-sessions/core/Session"
import * as SessionRole from "../src/SessionRole.ts"

const lines = (...values: ReadonlyArray<unknown>) =>
  Session.readText(values.map((value) => `${JSON.stringify(value)}\n`).join("")).lines

const header = (cwd?: string) => ({ type: "session", version: 3, id: "s", ...(cwd === undefined ? {} : { cwd }) })

const user = (text: string) => ({
  type: "message",
  id: text,
  message: { role: "user", content: [{ type: "text", text }] }
})

const prime = (content: string) => ({ type: "custom_message", id: content, customType: "gastown-prime", content })

const BEACON = "[GAS TOWN] polecat nux (rig: gastown) <- witness \u2022 2026-02-23T22:52 \u2022 assigned"

describe("SessionRole", () => {
  it("prefers the working directory to the beacon, and the beacon to the prime", () => {
    const read = (...values: ReadonlyArray<unknown>) => {
      const { role, roleSource } = SessionRole.detect(SessionRole.openingOf(lines(...values)))
      return [role, roleSource]
    }
    assert.deepStrictEqual(read(header("/home/u/gt/deacon"), user(BEACON)), ["deacon", "cwd"])
    assert.deepStrictEqual(read(header("/home/u/gt"), prime("# Mayor Context"), user("wake"), user(BEACON)), [
      "polecat",
      "beacon"
    ])
    assert.deepStrictEqual(read(header("/home/u/gt"), prime("# Mayor Context"), user("wake")), ["mayor", "prime"])
    assert.deepStrictEqual(read(header("/home/u/gt"), { ...prime("# Mayor Context"), customType: "gastown-mail" }), [
      "unknown",
      "none"
    ])
    assert.deepStrictEqual(read(header(), user("hi")), ["unknown", "none"])
  })

  it("reads primes of version 2 and earlier", () => {
    const message = {
      role: "hookMessage",
      customType: "gastown-prime",
      content: [{ type: "text", text: "# Boot Context" }]
    }
    const opening = SessionRole.openingOf(lines({ type: "session", id: "s", cwd: "/x" }, { type: "message", message }))
    assert.strictEqual(SessionRole.detect(opening).role, "boot")
  })

  it("uses the name of the session directory if the header has no working directory", () => {
    const opening = SessionRole.openingOf(lines(header(), user("hi")))
    const path = "/home/u/.pi/agent/sessions/--home-u-gt-gastown-witness--/x.jsonl"
    const { address, roleSource } = SessionRole.detect(opening, { path })
    assert.deepStrictEqual([address, roleSource], ["gastown/witness", "session_dir"])
  })

  it("uses the given town and identity", () => {
    const opening = SessionRole.openingOf(lines(header("/srv/town/deacon")))
    assert.strictEqual(SessionRole.detect(opening, { town: "/srv/town" }).roleSource, "cwd")
    assert.strictEqual(SessionRole.detect(opening, { override: { role: "mayor" } }).role, "mayor")
  })

  it("stops at the third user message", () => {
    const opening = new SessionRole.Opening()
    let pushed = 0
    for (const line of lines(
      header("/home/u/gt"),
      user("1"),
      user("2"),
      user("3"),
      user(BEACON),
      prime("# Mayor Context")
    )) {
      if (opening.complete) break
      opening.push(line)
      pushed++
    }
    assert.strictEqual(pushed, 4)
    assert.deepStrictEqual(opening.firstUserTexts, ["1", "2", "3"])
  })

  it("has no header until one was pushed, even after three user messages", () => {
    assert.isUndefined(SessionRole.openingOf(lines({ just: "json" })).header)
    const late = SessionRole.openingOf(lines(user("1"), user("2"), user("3"), header("/home/u/gt/deacon")))
    assert.strictEqual(SessionRole.detect(late).role, "deacon")
  })
})
