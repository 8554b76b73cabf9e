/** Agents in paths, addresses and names of session directories. */
import { assert, describe, it } from "@effect/vitest"
import {
  addressOf,
  CWD_ROLE_PATTERNS,
  fromCwd,
  fromSessionDirName,
  identity,
  type Identity,
  parseAddress
} from "../src/gasTown/GasTownPath.ts"
import { encodeCwd } from "../src/SessionPath.ts"

describe("fromCwd", () => {
  it("gives the town and its certainty", () => {
    assert.deepStrictEqual(fromCwd("/home/u/gt/gastown/polecats/nux"), {
      role: "polecat",
      name: "nux",
      rig: "gastown",
      town: "/home/u/gt",
      certainty: "town",
      ambiguous: false
    })
    assert.deepStrictEqual(fromCwd("/home/u/src/deacon"), {
      role: "deacon",
      town: "/home/u/src",
      certainty: "loose",
      ambiguous: false
    })
    assert.deepStrictEqual(fromCwd("/home/u/src/app"), { role: "unknown", certainty: "loose", ambiguous: false })
    assert.deepStrictEqual(fromCwd("/home/u/src/deacon", { town: "/home/u/gt" }), {
      role: "unknown",
      certainty: "town",
      ambiguous: false
    })
  })

  it.each([
    ["c:\\Users\\u\\gt\\deacon", "C:/Users/u/gt"],
    ["\\\\server\\share\\gt\\deacon", "/server/share/gt"],
    ["/home/u/x/.././gt//deacon", "/home/u/gt"],
    ["/gt/deacon", "/gt"],
    ["/deacon", "/"],
    ["/home/u/city/.gc/agents/mayor", "/home/u/city"],
    ["/home/u/gt/.gc/agents/mayor", "/home/u/gt"],
    ["/home/u/gt/city/.gc/agents/mayor", "/home/u/gt/city"],
    ["/home/gt/gt/deacon", "/home/gt/gt"],
    ["/home/u/gt/gt/polecats/gt/gt/deacon", "/home/u/gt"],
    ["deacon", undefined]
  ])("the town of %s is %s", (cwd, town) => {
    const reading = fromCwd(cwd)
    assert.strictEqual(reading.town, town)
    assert.notStrictEqual(reading.role, "unknown")
  })

  it("reads below a town of any name, and nothing outside of it", () => {
    const options = { town: "/srv/wasteland/" }
    assert.deepStrictEqual(fromCwd("/srv/wasteland/mayor", options), {
      role: "mayor",
      town: "/srv/wasteland",
      certainty: "town",
      ambiguous: false
    })
    assert.strictEqual(fromCwd("/srv/wasteland2/mayor", options).role, "unknown")
    assert.strictEqual(fromCwd("/home/u/gt/mayor", options).role, "unknown")
    assert.strictEqual(fromCwd("C:/srv/wasteland/mayor", options).role, "unknown")
  })

  it("is ambiguous in a rig's mayor clone and where a hyphen may join rig and name", () => {
    assert.isTrue(fromCwd("/home/u/gt/gastown/mayor/rig").ambiguous)
    assert.isTrue(fromCwd("/home/u/gt/beads/crew/gastown-joe").ambiguous)
    assert.isFalse(fromCwd("/home/u/gt/mayor/rig").ambiguous)
    assert.isFalse(fromCwd("/home/u/gt/gastown/crew/max").ambiguous)
  })

  it.each<[string, Identity]>([
    ["beads/crew/gastown-joe/src", identity("crew", "joe", "gastown")],
    ["beads/crew/gastown-prime-joe", identity("crew", "joe", "gastown-prime")],
    ["gastown/crew/gastown-joe", identity("crew", "gastown-joe", "gastown")],
    ["beads/crew/-joe", identity("crew", "-joe", "beads")],
    ["beads/crew/joe-", identity("crew", "joe-", "beads")],
    [".gc/worktrees/beads/crew/joe-from-gastown", identity("crew", "joe", "gastown")],
    [".gc/worktrees/beads/crew/gastown-joe", identity("crew", "joe", "gastown")],
    [".gc/agents/boot", identity("boot")],
    [".gc/agents/dogs", identity("unknown", undefined, "dogs")],
    [".gc/logs/deacon", identity("unknown")],
    ["gastown/crew/наталья", identity("crew", "наталья", "gastown")],
    ["deacon/dogs", identity("deacon")],
    ["deacon/witness", identity("deacon")],
    ["gastown/polecats", identity("unknown", undefined, "gastown")],
    ["gastown/src/witness", identity("unknown", undefined, "gastown")],
    [".beads/witness", identity("unknown")]
  ])("%s", (path, expected) => {
    const { name, rig, role } = fromCwd(`/home/u/gt/${path}`)
    assert.deepStrictEqual(identity(role, name, rig), expected)
  })

  it.each<[string, Identity]>([
    ["/srv/t/mayor", identity("mayor")],
    ["/srv/t/gastown/mayor/rig", identity("mayor", undefined, "gastown")],
    ["/srv/t/deacon/dogs/alpha/gastown", identity("dog", "alpha")],
    ["/srv/t/gastown/refinery/rig", identity("refinery", undefined, "gastown")],
    ["/srv/t/gastown/polecats/nux/gastown/crew/x", identity("polecat", "nux", "gastown")],
    ["/Users/deacon/code", identity("unknown")],
    ["/Users/mayor/gastown/crew/max", identity("crew", "max", "gastown")],
    ["/home/u/crew/max", identity("unknown")],
    ["C:\\Users\\deacon\\code", identity("unknown")]
  ])("guesses the leftmost agent directory of %s", (cwd, expected) => {
    const { certainty, name, rig, role } = fromCwd(cwd)
    assert.deepStrictEqual(identity(role, name, rig), expected)
    assert.strictEqual(certainty, "loose")
  })
})

describe("CWD_ROLE_PATTERNS", () => {
  it("has the patterns of docs/adr/005 in order, with Python's \\w", () => {
    assert.deepStrictEqual(
      CWD_ROLE_PATTERNS.map(({ role, source }) => [source, role]),
      [
        ["/deacon$", "deacon"],
        ["/deacon/dogs/boot$", "boot"],
        ["/witness$", "witness"],
        ["/refinery/rig$", "refinery"],
        ["/mayor/rig$", "mayor"],
        ["/crew/\\w+$", "crew"],
        ["/polecats/\\w+", "polecat"]
      ]
    )
    for (const { pattern, source } of CWD_ROLE_PATTERNS) {
      const spelledOut = source.replaceAll("\\w", "[\\p{L}\\p{N}_]")
      assert.strictEqual(pattern.source.replaceAll("\\/", "/"), spelledOut)
      assert.strictEqual(pattern.flags, "u")
    }
  })
})

describe("fromSessionDirName", () => {
  it("has Pi's file name", () => {
    assert.strictEqual(encodeCwd("/home/ubuntu/gt/deacon"), "--home-ubuntu-gt-deacon--")
    assert.strictEqual(encodeCwd("C:\\Users\\u\\gt"), "--C--Users-u-gt--")
    assert.strictEqual(encodeCwd("/"), "----")
  })

  it.each<[string, Identity | undefined]>([
    ["--home-ubuntu-gt-deacon--", identity("deacon")],
    ["--home-ubuntu-gt-deacon-dogs-boot--", identity("boot")],
    ["--home-ubuntu-gt-deacon-dogs-alpha--", identity("dog", "alpha")],
    ["--home-ubuntu-gt-my-rig-witness--", identity("witness", undefined, "my-rig")],
    ["--home-ubuntu-gt-gastown-polecats-road-warrior--", identity("polecat", undefined, "gastown")],
    ["--home-ubuntu-gt-my-rig-polecats-road-warrior-my-rig--", identity("polecat", "road-warrior", "my-rig")],
    ["--home-ubuntu-gt-gastown-crew--", undefined],
    ["--home-gt-gt-gastown-crew-max--", identity("crew", "max", "gt-gastown")],
    ["--home-u-.gc-logs-deacon--", undefined],
    ["--home-u-gt-.beads-witness--", undefined],
    ["--home-ubuntu-gt--", undefined],
    ["--home-u-src-deacon--", undefined],
    ["-home-ubuntu-gt-deacon", undefined],
    ["----", undefined],
    ["", undefined]
  ])("%s", (name, expected) => {
    assert.deepStrictEqual(fromSessionDirName(name), expected)
  })

  it("uses a given town", () => {
    const options = { town: "/srv/my-town/" }
    assert.deepStrictEqual(fromSessionDirName("--srv-my-town-deacon--", options), identity("deacon"))
    assert.isUndefined(fromSessionDirName("--srv-my-town--", options))
    assert.isUndefined(fromSessionDirName("--home-u-gt-deacon--", options))
    assert.isUndefined(fromSessionDirName("--srv-no-town-deacon--", options))
  })
})

describe("addresses", () => {
  it.each([
    "mayor",
    "deacon",
    "deacon/boot",
    "deacon/dogs",
    "deacon/dogs/alpha",
    "witness",
    "gastown/witness",
    "gastown/refinery",
    "gastown/crew",
    "gastown/crew/max",
    "gastown/polecats/road-warrior"
  ])("%s is read as it is printed", (address) => {
    const who = parseAddress(address)
    assert.isDefined(who)
    assert.strictEqual(addressOf(who), address)
  })

  it.each<[string, Identity | undefined]>([
    ["deacon/", identity("deacon")],
    ["boot", identity("boot")],
    ["deacon-boot", identity("boot")],
    ["deacon/dogs/boot", identity("boot")],
    ["gastown//refinery/", identity("refinery", undefined, "gastown")],
    ["gastown/nux", identity("polecat", "nux", "gastown")],
    ["gastown/mayor", identity("mayor", undefined, "gastown")],
    ["mayor/nux", undefined],
    ["deacon/nux", undefined],
    ["deacon/boot/x", undefined],
    ["gastown/witness/x", undefined],
    ["gastown/crew/max/src", undefined],
    ["go on/then", undefined],
    ["overseer", undefined],
    ["unknown", undefined],
    ["", undefined]
  ])("%s", (text, expected) => {
    assert.deepStrictEqual(parseAddress(text), expected)
  })
})
