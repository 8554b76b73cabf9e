/** Beacons and primes in every form. */
import { assert, describe, it } from "@effect/vitest"
import { type Beacon, parse, parsePrime } from "../src/gasTown/GasTownBeacon.ts"
import { identity, type Identity } from "../src/gasTown/GasTownPath.ts"

describe("parse", () => {
  it.each<[string, Beacon]>([
    [
      "[GAS TOWN] crew gus (rig: gastown) <- deacon • 2025-12-30T15:42 • assigned:gt-abc12\n\nRun `gt prime`",
      {
        form: "startup",
        role: "crew",
        name: "gus",
        rig: "gastown",
        sender: "deacon",
        timestamp: "2025-12-30T15:42",
        topic: "assigned",
        molecule: "gt-abc12"
      }
    ],
    [
      "[gas town] DEACON <- daemon • 2026-02-25T08:30 • lifecycle-restart",
      {
        form: "startup",
        role: "deacon",
        sender: "daemon",
        timestamp: "2026-02-25T08:30",
        topic: "lifecycle-restart"
      }
    ],
    [
      "[GAS TOWN] gastown/nux <- witness • 2025-12-30T15:42 • mol-polecat-work\r\nmore",
      {
        form: "path",
        role: "polecat",
        name: "nux",
        rig: "gastown",
        sender: "witness",
        timestamp: "2025-12-30T15:42",
        molecule: "mol-polecat-work"
      }
    ],
    [
      "[GAS TOWN] deacon <- daemon â€¢ 2026-02-25T08:30 â€¢ patrol",
      { form: "startup", role: "deacon", sender: "daemon", timestamp: "2026-02-25T08:30", topic: "patrol" }
    ],
    ["[GAS TOWN] deacon <- daemon ...", { form: "startup", role: "deacon", sender: "daemon ..." }],
    ["[GAS TOWN] deacon <-", { form: "startup", role: "deacon" }],
    [
      "[GAS TOWN] polecat 墨 (rig: my_rig) <- witness • 2026-02-25T08:30 • ready",
      {
        form: "startup",
        role: "polecat",
        name: "墨",
        rig: "my_rig",
        sender: "witness",
        timestamp: "2026-02-25T08:30",
        topic: "ready"
      }
    ],
    ["[GAS TOWN] role:deacon-boot pid:1 session:x", { form: "role", role: "boot" }],
    ["GAS TOWN role:gastown/crew/max pid:1 session:x", { form: "role", role: "crew", name: "max", rig: "gastown" }],
    ["[GAS TOWN] deacon. Start your patrol.", { form: "custom", role: "deacon" }],
    ["[GAS TOWN] dog alpha: fetch", { form: "custom", role: "dog", name: "alpha" }],
    ["[GAS TOWN] mayor", { form: "custom", role: "mayor" }],
    ["[GAS TOWN ROLE: polecat]\nYou are", { form: "training", role: "polecat" }],
    [
      "[bright-lights] mayor • 2026-02-26T15:30:00\n\nRun `gc prime`",
      { form: "city", role: "mayor", city: "bright-lights", timestamp: "2026-02-26T15:30:00" }
    ],
    [
      "[c] symphony/gastown.refinery • 2026-02-26T15:30:00",
      { form: "city", role: "refinery", rig: "symphony", city: "c", timestamp: "2026-02-26T15:30:00" }
    ],
    [
      "[c] hello-world/polecat • 2026-02-26T15:30:00",
      { form: "city", role: "polecat", rig: "hello-world", city: "c", timestamp: "2026-02-26T15:30:00" }
    ],
    [
      "[c] my.rig/polecat-2 • 2026-02-26T15:30:00",
      {
        form: "city",
        role: "polecat",
        name: "polecat-2",
        rig: "my.rig",
        city: "c",
        timestamp: "2026-02-26T15:30:00"
      }
    ],
    [
      "[c] gastown.witness-1 • 2026-02-26T15:30:00",
      { form: "city", role: "witness", city: "c", timestamp: "2026-02-26T15:30:00" }
    ],
    [
      "[Gas Town] mayor • 2026-02-26T15:30:00",
      { form: "city", role: "mayor", city: "Gas Town", timestamp: "2026-02-26T15:30:00" }
    ]
  ])("%s", (text, expected) => {
    assert.deepStrictEqual(parse(text), expected)
  })

  it.each([
    "",
    "\n[GAS TOWN] deacon <- daemon • 2026-02-25T08:30 • patrol",
    "Look at this:\n[GAS TOWN] deacon <- daemon • 2026-02-25T08:30 • patrol",
    "the text [GAS TOWN] deacon <- daemon • 2026-02-25T08:30 • patrol",
    "> [GAS TOWN] deacon <- daemon • 2026-02-25T08:30 • patrol",
    "[GAS TOWN]",
    "[GAS TOWN] <- daemon • 2026-02-25T08:30 • patrol",
    "[GAS TOWN] overseer <- daemon • 2026-02-25T08:30 • patrol",
    "[GAS TOWN] unknown <- daemon • 2026-02-25T08:30 • patrol",
    "[GAS TOWN] deacon down <- daemon • 2026-02-25T08:30 • patrol",
    "[GAS TOWN] deacon (rig: gastown) <- daemon • 2026-02-25T08:30 • patrol",
    "[GAS TOWN] look at docs/readme <- daemon • 2026-02-25T08:30 • patrol",
    "[GAS TOWN] deacon is down, look at it",
    "[GAS TOWN] witness (rig: gastown) is down",
    "[GAS TOWN] witness.",
    "[GAS TOWN] docs/readme. Read it.",
    "[GAS TOWN] role:overseer pid:1 session:x",
    "[GAS TOWN] role: deacon",
    "[GAS TOWN ROLE: fool] You are",
    "[c] worker • 2026-02-26T15:30:00",
    "[c] symphony/gastown.furiosa • 2026-02-26T15:30:00",
    "[c] mayor • yesterday",
    "[c] mayor - 2026-02-26T15:30:00",
    "[x] deacon"
  ])("is no beacon: %s", (text) => {
    assert.isUndefined(parse(text))
  })
})

describe("parsePrime", () => {
  it.each<[string, Identity | undefined]>([
    ["# Deacon Context\n\n> **Recovery**: Run `gt prime`", identity("deacon")],
    ["# Boot Watchdog Context", identity("boot")],
    ["[session:abc]\n[source:startup]\n\n# Crew Worker Context\n", identity("crew")],
    [
      "[session:abc]\n[GAS TOWN] role:gastown/crew/max pid:1 session:abc\n# Crew Worker Context",
      identity("crew", "max", "gastown")
    ],
    ["GAS TOWN role:boot pid:1 session:abc\r\n# Boot Context", identity("boot")],
    ["\n> **Recovery**: Context compact complete.\n[GAS TOWN] role:mayor pid:1 session:abc\n\n---", identity("mayor")],
    ["# Gas Town Context\n# Deacon Context", undefined],
    ["# Overseer Context", undefined],
    ["# Deacon", undefined],
    ["## Deacon Context", undefined],
    ["<system-reminder>\nYou have mail\n# Witness Context\n</system-reminder>", undefined],
    [`${"\n".repeat(100)}# Witness Context`, undefined],
    ["", undefined]
  ])("%s", (text, expected) => {
    assert.deepStrictEqual(parsePrime(text), expected)
  })
})
