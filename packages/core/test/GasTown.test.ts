/** Detection of Gas Town agents in real layouts and texts, and selection by `--rig`. */
import { encodeCwd } from "../src/SessionPath.ts"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as GasTown from "../src/GasTown.ts"
import { parse } from "../src/gasTown/GasTownBeacon.ts"
import { fromSessionDirName, identity, type Identity, roleBySeedPatterns } from "../src/gasTown/GasTownPath.ts"

/** Real layouts: working directory, gt's address, and the role by the patterns alone. */
const LAYOUTS: ReadonlyArray<readonly [string, Identity, GasTown.Role | undefined]> = [
  ["/home/ubuntu/gt/deacon", identity("deacon"), "deacon"],
  ["/home/ubuntu/gt/deacon/", identity("deacon"), undefined],
  ["/home/ubuntu/gt", identity("unknown"), undefined],
  ["/home/ubuntu/gt/deacon/dogs/boot", identity("boot"), "boot"],
  ["/home/ubuntu/gt/deacon/dogs/alpha", identity("dog", "alpha"), undefined],
  ["/home/ubuntu/gt/deacon/dogs/alpha/gastown", identity("dog", "alpha"), undefined],
  ["/home/ubuntu/gt/mayor", identity("mayor"), undefined],
  ["/home/ubuntu/gt/mayor/rig", identity("mayor"), "mayor"],
  ["/home/ubuntu/gt/gastown/mayor/rig", identity("mayor", undefined, "gastown"), "mayor"],
  ["/home/ubuntu/gt/gastown/witness", identity("witness", undefined, "gastown"), "witness"],
  ["/home/ubuntu/gt/gastown/witness/rig", identity("witness", undefined, "gastown"), undefined],
  ["/home/ubuntu/gt/gastown", identity("unknown", undefined, "gastown"), undefined],
  ["/home/ubuntu/gt/gastown/refinery/rig", identity("refinery", undefined, "gastown"), "refinery"],
  ["/home/ubuntu/gt/gastown/refinery", identity("refinery", undefined, "gastown"), undefined],
  ["/home/ubuntu/gt/gastown/refinery/rig/internal/cmd", identity("refinery", undefined, "gastown"), undefined],
  ["/home/ubuntu/gt/gastown/crew/max", identity("crew", "max", "gastown"), "crew"],
  ["/home/ubuntu/gt/gastown/crew/max/src", identity("crew", "max", "gastown"), undefined],
  ["/home/ubuntu/gt/beads/crew/gastown-joe", identity("crew", "joe", "gastown"), undefined],
  ["/home/ubuntu/gt/gastown/crew/josé", identity("crew", "josé", "gastown"), "crew"],
  ["/home/ubuntu/gt/gastown/polecats/nux", identity("polecat", "nux", "gastown"), "polecat"],
  ["/home/ubuntu/gt/gastown/polecats/nux/gastown", identity("polecat", "nux", "gastown"), "polecat"],
  ["/home/ubuntu/gt/gastown/polecats/road-warrior/gastown", identity("polecat", "road-warrior", "gastown"), "polecat"],
  ["/home/ubuntu/gt/gastown/polecats/witness", identity("polecat", "witness", "gastown"), "witness"],
  ["/home/ubuntu/gt/gastown/polecats/nux/gastown/crew/x", identity("polecat", "nux", "gastown"), "crew"],
  ["/home/ubuntu/gt/my_rig/polecats/713/my_rig", identity("polecat", "713", "my_rig"), "polecat"],
  ["C:\\Users\\u\\gt\\deacon", identity("deacon"), undefined],
  ["C:\\Users\\u\\gt\\gastown\\polecats\\nux\\gastown", identity("polecat", "nux", "gastown"), undefined],
  ["/home/u/src/deacon", identity("unknown"), "deacon"],
  ["/home/u/work/church/crew/readme", identity("unknown"), "crew"],
  ["/home/u/city/.gc/agents/deacon", identity("deacon"), "deacon"],
  ["/home/u/city/.gc/agents/gastown/witness", identity("witness", undefined, "gastown"), "witness"],
  ["/home/u/city/.gc/worktrees/gastown/refinery", identity("refinery", undefined, "gastown"), undefined],
  ["/home/u/city/.gc/worktrees/gastown/polecats/nux", identity("polecat", "nux", "gastown"), "polecat"],
  ["/home/u/city/.gc/agents/dogs/rex", identity("dog", "rex"), undefined]
]

/** First user texts, with the agent that is addressed. */
const BEACONS: ReadonlyArray<readonly [string, Identity]> = [
  ["[GAS TOWN] deacon <- daemon • 2026-02-25T08:30 • patrol", identity("deacon")],
  ["[GAS TOWN] boot <- daemon • 2026-02-23T19:24 • triage", identity("boot")],
  [
    "[GAS TOWN] polecat chrome (rig: sf_workflows) <- witness • 2026-02-23T22:52 • assigned",
    identity("polecat", "chrome", "sf_workflows")
  ],
  [
    "[GAS TOWN] witness (rig: sf_workflows) <- deacon • 2026-02-23T23:03 • patrol",
    identity("witness", undefined, "sf_workflows")
  ],
  ["[GAS TOWN] crew max (rig: gastown) <- human • 2026-02-23T22:50 • start", identity("crew", "max", "gastown")],
  ["[GAS TOWN] dog alpha <- deacon • 2026-02-23T22:50 • assigned", identity("dog", "alpha")],
  ["[GAS TOWN] gastown/crew/gus <- human • 2025-12-30T15:42 • restart", identity("crew", "gus", "gastown")],
  ["[GAS TOWN] gastown/witness <- deacon • 2025-12-30T14:00 • patrol", identity("witness", undefined, "gastown")],
  ["[GAS TOWN] role:gastown/polecats/nux pid:123 session:abc", identity("polecat", "nux", "gastown")],
  ["[GAS TOWN] role:deacon pid:1 session:x", identity("deacon")],
  ["[GAS TOWN] polecat nux (rig: veloxide). Claim bead ve-12.", identity("polecat", "nux", "veloxide")],
  ["[GAS TOWN] mayor <- human • 2026-03-01T10:49 • cold-start", identity("mayor")],
  ["[GAS TOWN ROLE: witness] You are", identity("witness")]
]

/** The rows above for which `detect` has another result, with the result and the reason. */
const differences: ReadonlyMap<string, { readonly answer: Identity; readonly reason: string }> = new Map([
  [
    "/home/u/src/deacon",
    {
      answer: identity("deacon"),
      reason: "no town root in the path, and a town may have any name: kept as a guess, and marked as one"
    }
  ],
  [
    "/home/u/work/church/crew/readme",
    {
      answer: identity("crew", "readme", "church"),
      reason: "the same; naming the town makes both unknown"
    }
  ],
  [
    "[GAS TOWN ROLE: witness] You are",
    { answer: identity("unknown"), reason: "heads prompts made for training and evaluating: no agent worked there" }
  ]
])

/** Rows whose session directory's name is ambiguous, by working directory. */
const dirNameDifferences: ReadonlyMap<string, { readonly answer: Identity | undefined; readonly reason: string }> =
  new Map([
    [
      "/home/ubuntu/gt/deacon/dogs/alpha/gastown",
      { answer: identity("dog"), reason: "the dog's name may hold a -, and a directory may follow" }
    ],
    [
      "/home/ubuntu/gt/gastown/crew/max/src",
      { answer: identity("crew", undefined, "gastown"), reason: "max in src, max-src, or src of rig max" }
    ],
    [
      "/home/ubuntu/gt/beads/crew/gastown-joe",
      { answer: identity("crew", undefined, "beads"), reason: "gastown in joe, gastown-joe, or joe of gastown" }
    ],
    [
      "/home/ubuntu/gt/gastown/polecats/nux/gastown/crew/x",
      { answer: identity("polecat", undefined, "gastown"), reason: "the name's end is lost" }
    ],
    ["/home/u/src/deacon", { answer: undefined, reason: "no word for a town: two guesses would be multiplied" }],
    ["/home/u/work/church/crew/readme", { answer: undefined, reason: "the same" }]
  ])

const who = ({ name, rig, role }: Identity): Identity => identity(role, name, rig)

const swapSeparators = (path: string) => (path.includes("\\") ? path.replaceAll("\\", "/") : path.replaceAll("/", "\\"))

describe("the table of working directories", () => {
  it.each(LAYOUTS)("%s", (cwd, truth) => {
    const expected = differences.get(cwd)?.answer ?? truth
    const found = GasTown.detect({ cwd })
    assert.deepStrictEqual(who(found), expected)
    assert.strictEqual(
      found.roleSource,
      expected.role === "unknown" ? "none" : differences.has(cwd) ? "seed_pattern" : "cwd"
    )
  })

  it.each(LAYOUTS)("the other separators and a trailing slash change nothing: %s", (cwd) => {
    const found = GasTown.detect({ cwd })
    assert.deepStrictEqual(GasTown.detect({ cwd: swapSeparators(cwd) }), found)
    assert.deepStrictEqual(GasTown.detect({ cwd: `${cwd}/` }), found)
    assert.deepStrictEqual(GasTown.detect({ cwd: `${cwd}\\` }), found)
  })

  it.each(LAYOUTS)("the patterns alone: %s", (cwd, _truth, seed) => {
    assert.strictEqual(roleBySeedPatterns(cwd), seed)
  })

  it.each(LAYOUTS)("a named town gives the truth without a difference: %s", (cwd, truth) => {
    const city = cwd.startsWith("/home/u/city/")
    const town = city ? "/home/u/city" : cwd.startsWith("C:") ? "c:\\Users\\u\\gt\\" : "/home/ubuntu/gt/"
    const found = GasTown.detect({ cwd, town })
    assert.deepStrictEqual(who(found), truth)
    assert.notStrictEqual(found.roleSource, "seed_pattern")
  })

  it.each(LAYOUTS)("Pi's session directory of %s", (cwd, truth) => {
    const name = encodeCwd(cwd.replace(/\/$/u, ""))
    const expected = truth.role === "unknown" ? undefined : truth
    const difference = dirNameDifferences.get(cwd)
    assert.deepStrictEqual(fromSessionDirName(name), difference === undefined ? expected : difference.answer)
  })

  it("lists only rows that really differ", () => {
    for (const [text, { answer }] of differences) {
      const truth = [...LAYOUTS, ...BEACONS].find(([row]) => row === text)?.[1]
      assert.notDeepEqual(truth, answer)
    }
    for (const [cwd, { answer }] of dirNameDifferences) {
      assert.notDeepEqual<Identity | undefined>(LAYOUTS.find(([row]) => row === cwd)?.[1], answer)
    }
  })
})

describe("the table of first user texts", () => {
  it.each(BEACONS)("%s", (text, truth) => {
    const beacon = parse(text)
    assert.isDefined(beacon)
    assert.deepStrictEqual(who(beacon), truth)
    const expected = differences.get(text)?.answer ?? truth
    const found = GasTown.detect({ firstUserTexts: [text] })
    assert.deepStrictEqual(who(found), expected)
    assert.strictEqual(found.roleSource, expected.role === "unknown" ? "none" : "beacon")
  })
})

const DEACON = "[GAS TOWN] deacon <- daemon • 2026-02-25T08:30 • patrol"
const WITNESS = "[GAS TOWN] witness (rig: gastown) <- deacon • 2026-02-25T08:30 • patrol"
const REFINERY = "[GAS TOWN] refinery (rig: gastown) <- daemon • 2026-02-25T08:30 • patrol"

describe("the order of evidence", () => {
  it("prefers an override, and adds what the path has of the same agent", () => {
    const cwd = "/home/u/gt/gastown/crew/max"
    assert.deepStrictEqual(GasTown.detect({ cwd, firstUserTexts: [DEACON], override: identity("crew") }), {
      role: "crew",
      name: "max",
      rig: "gastown",
      town: "/home/u/gt",
      address: "gastown/crew/max",
      roleSource: "override",
      roleConflict: { cwd: "crew", beacon: "deacon" }
    })
    assert.strictEqual(GasTown.detect({ cwd, override: identity("crew", undefined, "beads") }).address, "beads/crew")
    assert.deepStrictEqual(GasTown.detect({ cwd, override: identity("mayor") }), {
      role: "mayor",
      town: "/home/u/gt",
      address: "mayor",
      roleSource: "override"
    })
  })

  it("prefers a working directory in a known town to the beacon, and records the conflict", () => {
    const found = GasTown.detect({ cwd: "/home/u/gt/gastown/crew/max", firstUserTexts: [WITNESS] })
    assert.strictEqual(found.address, "gastown/crew/max")
    assert.strictEqual(found.roleSource, "cwd")
    assert.deepStrictEqual(found.roleConflict, { cwd: "crew", beacon: "witness" })
    assert.notProperty(GasTown.detect({ cwd: "/home/u/gt/beads/witness", firstUserTexts: [WITNESS] }), "roleConflict")
  })

  it("takes the role from the beacon at the town's root, where the daemon restarts the deacon", () => {
    assert.deepStrictEqual(GasTown.detect({ cwd: "/home/u/gt", firstUserTexts: [DEACON] }), {
      role: "deacon",
      town: "/home/u/gt",
      address: "deacon",
      roleSource: "beacon"
    })
  })

  it("prefers the beacon to a rig's mayor clone, where the refinery can start", () => {
    const cwd = "/home/u/gt/gastown/mayor/rig"
    const found = GasTown.detect({ cwd, firstUserTexts: [REFINERY] })
    assert.strictEqual(found.address, "gastown/refinery")
    assert.strictEqual(found.roleSource, "beacon")
    assert.deepStrictEqual(found.roleConflict, { cwd: "mayor", beacon: "refinery" })
    assert.strictEqual(GasTown.detect({ cwd, primeTexts: ["# Refinery Context"] }).address, "gastown/refinery")
    assert.strictEqual(GasTown.detect({ cwd }).roleSource, "cwd")
  })

  it("prefers the beacon to a crew directory that looks like a cross-rig worktree", () => {
    const cwd = "/home/u/gt/beads/crew/mary-jane"
    const text = "[GAS TOWN] crew mary-jane (rig: beads) <- human • 2026-02-25T08:30 • start"
    assert.strictEqual(GasTown.detect({ cwd, firstUserTexts: [text] }).address, "beads/crew/mary-jane")
    assert.strictEqual(GasTown.detect({ cwd }).address, "mary/crew/jane")
  })

  it("finds the beacon after a nudge, not after a conversation", () => {
    assert.strictEqual(GasTown.detect({ firstUserTexts: ["wake up", DEACON] }).role, "deacon")
    assert.strictEqual(GasTown.detect({ firstUserTexts: ["a", "b", "c", DEACON] }).role, "unknown")
  })

  it("takes a missing rig of a beacon from the path, except for town-level roles", () => {
    const cwd = "/home/u/gt/gastown"
    const witness = "[GAS TOWN] witness <- deacon • 2026-02-25T08:30 • patrol"
    assert.strictEqual(GasTown.detect({ cwd, firstUserTexts: [witness] }).address, "gastown/witness")
    assert.isUndefined(GasTown.detect({ cwd, firstUserTexts: [DEACON] }).rig)
  })

  it("prefers beacon, prime, session directory's name and patterns, in this order", () => {
    const all = {
      cwd: "/srv/town/gastown/polecats/nux",
      firstUserTexts: [WITNESS],
      primeTexts: ["# Crew Worker Context"],
      sessionDirName: "--home-u-gt-deacon--"
    }
    const source = (evidence: GasTown.Evidence) => GasTown.detect(evidence).roleSource
    assert.strictEqual(source(all), "beacon")
    assert.strictEqual(source({ ...all, firstUserTexts: [] }), "prime")
    assert.strictEqual(source({ ...all, firstUserTexts: [], primeTexts: [] }), "session_dir")
    assert.deepStrictEqual(GasTown.detect({ cwd: all.cwd }), {
      role: "polecat",
      name: "nux",
      rig: "gastown",
      town: "/srv/town",
      address: "gastown/polecats/nux",
      roleSource: "seed_pattern"
    })
    assert.deepStrictEqual(GasTown.detect({}), { role: "unknown", roleSource: "none" })
    assert.deepStrictEqual(GasTown.detect({ cwd: "" }), { role: "unknown", roleSource: "none" })
  })

  it("ignores a session directory's name that encodes the same working directory", () => {
    const cwd = "/home/u/gt/gastown/tools/witness"
    assert.strictEqual(GasTown.detect({ cwd: encodeCwd(cwd) }).role, "unknown")
    assert.strictEqual(GasTown.detect({ sessionDirName: "--home-ubuntu-gt-deacon--" }).roleSource, "session_dir")
  })

  it("does not use the patterns where a town root is known", () => {
    assert.strictEqual(GasTown.detect({ cwd: "/home/u/gt/gastown/src/deacon" }).role, "unknown")
    assert.strictEqual(GasTown.detect({ cwd: "/home/u/src/deacon", town: "/home/u/gt" }).role, "unknown")
  })

  it("guesses only by the patterns, and takes rig and name from the leftmost agent directory", () => {
    const role = (cwd: string) => GasTown.detect({ cwd }).role
    assert.strictEqual(role("/Users/deacon/code/app"), "unknown")
    assert.strictEqual(role("/srv/town/gastown/polecats/witness"), "polecat")
    assert.strictEqual(role("/Users/deacon/town/gastown/crew/max"), "crew")
    assert.strictEqual(role("/crew/max"), "crew")
  })

  it("lets a beacon confirm the town of a path with no known root, unless they name different agents", () => {
    assert.deepStrictEqual(GasTown.detect({ cwd: "/srv/town/deacon", firstUserTexts: [DEACON] }).town, "/srv/town")
    const found = GasTown.detect({ cwd: "/srv/town/gastown/crew/max", firstUserTexts: [WITNESS] })
    assert.deepStrictEqual(found, {
      role: "witness",
      rig: "gastown",
      address: "gastown/witness",
      roleSource: "beacon"
    })
  })

  it("decodes its generated lines", () => {
    const decode = Schema.decodeUnknownSync(GasTown.RoleDetection)
    for (const [cwd] of LAYOUTS) {
      const found = GasTown.detect({ cwd, firstUserTexts: [WITNESS] })
      assert.deepStrictEqual(decode(found), found)
    }
  })
})

const at = (path: string) => GasTown.detect({ cwd: `/home/u/gt/${path}` })

const TOWN = {
  mayor: at("mayor"),
  deacon: at("deacon"),
  boot: at("deacon/dogs/boot"),
  alpha: at("deacon/dogs/alpha"),
  witness: at("gastown/witness"),
  refinery: at("gastown/refinery/rig"),
  max: at("gastown/crew/max"),
  josé: at("gastown/crew/josé"),
  nux: at("gastown/polecats/nux/gastown"),
  clone: at("gastown/mayor/rig"),
  rigRoot: at("gastown"),
  beads: at("beads/witness"),
  root: at("")
}

const taken = (selector: string, options?: GasTown.SelectorOptions) =>
  Object.entries(TOWN)
    .filter(([, detection]) => GasTown.matchesRig(detection, selector, options))
    .map(([key]) => key)
    .join(" ")

describe("--rig", () => {
  it("gives every agent gt's address, and sessions without agents none", () => {
    const addresses = Object.values(TOWN).map(({ address }) => address)
    assert.deepStrictEqual(addresses, [
      "mayor",
      "deacon",
      "deacon/boot",
      "deacon/dogs/alpha",
      "gastown/witness",
      "gastown/refinery",
      "gastown/crew/max",
      "gastown/crew/josé",
      "gastown/polecats/nux",
      "mayor",
      undefined,
      "beads/witness",
      undefined
    ])
  })

  it.each([
    ["deacon", "deacon"],
    ["deacon/", "deacon"],
    ["mayor", "mayor clone"],
    ["boot", "boot"],
    ["dog", "alpha"],
    ["deacon/boot", "boot"],
    ["deacon/dogs/boot", "boot"],
    ["deacon/dogs/alpha", "alpha"],
    ["deacon/dogs", "boot alpha"],
    ["deacon/*", "boot"],
    ["deacon/**", "deacon boot alpha"],
    ["deacon/**/**/**", "deacon boot alpha"],
    ["deacon/dogs/*", "boot alpha"],
    ["gastown", "witness refinery max josé nux clone rigRoot"],
    ["gastown/witness", "witness"],
    ["gastown/refinery", "refinery"],
    ["gastown/mayor", "clone"],
    ["gastown/crew/max", "max"],
    ["gastown\\crew\\max", "max"],
    ["gastown/crew/jose\u0301", "josé"],
    ["gastown/crew", "max josé"],
    ["gastown/polecats/nux", "nux"],
    ["gastown/nux", "nux"],
    ["gastown/polecats/n*x", "nux"],
    ["gastown/**", "witness refinery max josé nux clone rigRoot"],
    ["*/witness", "witness beads"],
    ["**/witness", "witness beads"],
    ["**/max", "max"],
    ["gas*", "witness refinery max josé nux clone rigRoot"],
    ["g*s*own", "witness refinery max josé nux clone rigRoot"],
    ["gas*x", ""],
    ["**/max*", "max"],
    ["*", "mayor deacon witness refinery max josé nux clone rigRoot beads"],
    ["**", "mayor deacon boot alpha witness refinery max josé nux clone rigRoot beads"],
    ["gast", ""],
    ["witness", ""],
    ["max", ""],
    ["unknown", ""],
    ["", ""],
    ["/", ""]
  ])("%s takes: %s", (selector, expected) => {
    assert.strictEqual(taken(selector), expected)
  })

  it("selects boot and the dogs by deacon with includeDogs, and by no other selector", () => {
    assert.strictEqual(taken("deacon", { includeDogs: true }), "deacon boot alpha")
    assert.strictEqual(taken("mayor", { includeDogs: true }), "mayor clone")
  })

  it("has a notice for town-level roles only", () => {
    const head = (role: string) => `--rig ${role}: ${role} is a town-level role, not a rig; taking sessions of <town>/`
    assert.strictEqual(GasTown.describeSelector("deacon"), `${head("deacon")}deacon`)
    assert.strictEqual(GasTown.describeSelector("deacon", { includeDogs: true }), `${head("deacon")}deacon/**`)
    assert.strictEqual(GasTown.describeSelector(" mayor/ ", { includeDogs: true }), `${head("mayor")}mayor`)
    assert.strictEqual(GasTown.describeSelector("boot"), `${head("boot")}deacon/dogs/boot`)
    assert.strictEqual(GasTown.describeSelector("dog"), `${head("dog")}deacon/dogs/*`)
    for (const selector of ["gastown", "gastown/witness", "deacon/**", "witness", ""]) {
      assert.isUndefined(GasTown.describeSelector(selector))
    }
  })
})

/** Parts that a rule reads, and other parts. */
const PARTS =
  "gt,.gc,agents,worktrees,mayor,deacon,dogs,boot,rig,witness,refinery,crew,polecats,home,a-b,josé,C:,..,.,дом,"

describe("properties", () => {
  const Text = Schema.String
  const Part = Schema.Literals(PARTS.split(","))
  const Parts = Schema.Array(Part)

  it.prop("never throws on any text", [Text, Text, Text, Text], ([cwd, text, name, selector]) => {
    const texts = [text, `[GAS TOWN] ${text}`, `[GAS TOWN] role:${text}`, `[${text}`]
    for (const town of [{}, { town: text }]) {
      const found = GasTown.detect({
        cwd,
        firstUserTexts: texts,
        primeTexts: [text],
        sessionDirName: `--${name}--`,
        ...town
      })
      GasTown.matchesRig(found, selector)
      GasTown.matchesRig(found, `${selector}*/**`)
      GasTown.describeSelector(selector)
    }
  })

  it.prop("separators and a trailing slash change nothing", [Parts, Parts], ([parts, below]) => {
    const path = `/${parts.join("/")}`
    const found = GasTown.detect({ cwd: path })
    assert.deepStrictEqual(GasTown.detect({ cwd: `${path}/` }), found)
    assert.deepStrictEqual(GasTown.detect({ cwd: `\\${parts.join("\\")}\\` }), found)
    const cwd = `${path}/${below.join("/")}`
    const inTown = GasTown.detect({ cwd, town: path })
    assert.deepStrictEqual(GasTown.detect({ cwd: cwd.replaceAll("/", "\\"), town: `${path}/` }), inTown)
  })

  it.prop("selects every detected agent by its address, by ** and by its rig", [Parts], ([parts]) => {
    const found = GasTown.detect({ cwd: `/home/u/gt/${parts.join("/")}` })
    if (found.role === "unknown") assert.isUndefined(found.address)
    else {
      assert.isTrue(GasTown.matchesRig(found, found.address ?? ""))
      assert.isTrue(GasTown.matchesRig(found, "**"))
    }
    if (found.role === "witness") assert.isTrue(GasTown.matchesRig(found, `${found.rig}/**`))
  })
})
