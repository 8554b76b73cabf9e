/**
 * Finds what tells who a person is: home directories, the user and host names that a session tells, e-mail addresses.
 *
 * Whoever stands in a path under `/home` or `/Users` is taken out of that path, whatever the text. A name that the session
 * itself tells (its working directory lies in that home) is taken out wherever it stands as a word, if it is no common
 * word; a common one only where it is plainly an account: before an `@`, after `~`, in `ls -l`, in `USER=`.
 */
import { isStandIn } from "./Placeholders.ts"
import { isBorder } from "./internal/border.ts"
import { type Finding, type KeywordFinder, merged } from "./internal/finding.ts"
import { NameSearch } from "./internal/nameSearch.ts"

export interface ToldNames {
  readonly users: ReadonlyArray<string>
  readonly hosts: ReadonlyArray<string>
}

export const NAME_RULES = { home: "home-directory", user: "user-name", host: "host-name", email: "email" } as const

/** Below every secret: a name in a secret goes with it. */
const RANK = 3

/** Accounts that images and services have: they are nobody's. */
const ACCOUNTS = new Set(
  (
    "root user users admin administrator ubuntu debian fedora centos alpine ec2-user azureuser opc vagrant docker podman node " +
    "runner runneradmin circleci jenkins travis gitpod codespace codespaces vscode coder devcontainer dev developer app " +
    "appuser web_user www-data nobody nonroot git github gitlab bot agent sandbox build builder ci deploy test tester guest default " +
    "public shared service daemon system localuser home linuxbrew pi oracle postgres mysql redis me you username name " +
    "yourname your-name your-username youruser someone somebody example foo bar alice bob jane john joe"
  ).split(" ")
)

/** Words that a name may be, and that programs and their texts are full of. */
const WORDS = new Set(
  (
    "claude gemini codex copilot gastown deacon mayor witness refinery polecat crew project projects workspace workspaces " +
    "source sources server client local python rust linux macos windows master branch config server script hunter mason grace " +
    "summer april august autumn dawn hope faith sunny sandy rusty frank angel chase carter cooper parker porter taylor turner " +
    "walker miller baker archer"
  ).split(" ")
)
const DISTINCT_LENGTH = 5

const isAccount = (name: string): boolean =>
  ACCOUNTS.has(name.toLowerCase()) || isStandIn(name) || /^[.\d_-]*$/u.test(name)
const isDistinct = (name: string): boolean => name.length >= DISTINCT_LENGTH && !WORDS.has(name.toLowerCase())

/** `\` as often as JSON escapes it, `/`, and how URLs write it. */
const SLASH = String.raw`(?:\\{1,8}|\/|%2[Ff]|%5[Cc])`
const IS_FILE = /\.(?:js|ts|jsx|tsx|html?|json|md|py|php|vue)$/iu
const UNIX_HOME = new RegExp(`${SLASH}(?:home|Users)${SLASH}(?<name>[\\w.-]{1,64})(?![\\w.-])`, "uy")
/** Names of Windows hold spaces; whether a space is part of it shows only where the path goes on. */
const WINDOWS_HOME = new RegExp(
  `${SLASH}{1,4}Users${SLASH}{1,4}(?<name>[^\\\\/:*?"<>|%\\r\\n]{1,64}(?=${SLASH})|[\\w.-]{1,64}(?![\\w.-]))`,
  "iuy"
)
const WINDOWS_DRIVE = /(?:(?<![A-Za-z])[A-Za-z](?::|%3A)|(?:\\{1,8}|\/|%2F)mnt(?:\\{1,8}|\/|%2F)[a-z])$/iu

/** The accounts in whose homes these paths lie. */
export const usersOf = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  const names = new Set<string>()
  for (const path of paths) {
    const small = path.toLowerCase()
    for (const keyword of HOMES.keywords) {
      for (let at = small.indexOf(keyword); at >= 0; at = small.indexOf(keyword, at + 1)) {
        const name = HOMES.find(path, at)?.value
        if (name !== undefined) names.add(name)
      }
    }
  }
  return [...names]
}

/** The account of a home directory; `at` is where the last character of the slash before `home` or `Users` is. */
const homeAt = (text: string, at: number): Finding | undefined => {
  const last = text[at]
  // The slash may be one character, the last of several, or the end of `%2F`.
  let start = last === "F" || last === "C" || last === "f" || last === "c" ? at - 2 : at
  if (last === "\\") while (text[start - 1] === "\\" && at - start < 7) start--
  if (start < 0) return undefined
  const isWindows = WINDOWS_DRIVE.test(text.slice(Math.max(0, start - 12), start))
  const pattern = isWindows ? WINDOWS_HOME : UNIX_HOME
  pattern.lastIndex = start
  const match = pattern.exec(text)
  const whole = match?.groups?.["name"] ?? ""
  const name = whole.replace(/\.+$/u, "")
  if (match === null || isAccount(name) || IS_FILE.test(name)) return undefined
  if (!isWindows && !isPathStart(text, start)) return undefined
  const end = start + match[0].length - whole.length + name.length
  return { start: end - name.length, end, rule: NAME_RULES.home, rank: RANK, value: name }
}

/** Home directories in any text; for the pass that looks for secrets. */
export const HOMES: KeywordFinder = {
  keywords: ["/home/", "\\home\\", "%2fhome%2f", "/users/", "\\users\\", "%2fusers%2f", "%5cusers%5c"],
  find: (text, start) => homeAt(text, text[start] === "%" ? start + 2 : start)
}

/** `/home/ann` after a letter goes on a path of somewhere else: a package's `src/home/index`. */
const isPathStart = (text: string, start: number): boolean => {
  const before = text[start - 1] ?? ""
  return (
    before !== "." &&
    before !== "}" &&
    before !== ")" &&
    (isBorder(text, start) ||
      /(?:\/(?:mnt|private|Volumes|System)[\w/-]{0,40}|[A-Za-z]:)$/u.test(text.slice(Math.max(0, start - 60), start)))
  )
}

/** Finds the names that a session tells, and addresses. Home directories are found with the secrets; see `HOMES`. */
export class PersonalNames {
  readonly #users: NameSearch
  /** A session may name any number of them. */
  readonly #hosts: NameSearch

  constructor({ hosts, users }: ToldNames) {
    this.#users = new NameSearch(users.filter((name) => name.length > 1 && !isAccount(name)))
    this.#hosts = new NameSearch(hosts.filter((name) => name.length > 1 && !isAccount(name) && name !== "localhost"))
  }

  find(text: string): ReadonlyArray<Finding> {
    return merged(this.collect(text))
  }

  /** As they come: one may hold another. */
  collect(text: string): Array<Finding> {
    const findings: Array<Finding> = []
    const add = (rule: string, inDoubt: Counts) => (name: string, start: number) => {
      const end = start + name.length
      const counts = isDistinct(name) ? isWord : inDoubt
      if (counts(text, start, end)) findings.push({ start, end, rule, rank: RANK, value: name })
    }
    this.#users.search(text, add(NAME_RULES.user, isAccountAt))
    this.#hosts.search(text, add(NAME_RULES.host, isHostAt))
    if (text.includes("@")) emails(text, findings)
    return findings
  }
}

type Counts = (text: string, start: number, end: number) => boolean

/** The machines that prompts such as `ann@laptop:~$` name. */
export const hostsOf = (users: ReadonlyArray<string>, texts: Iterable<string>): ReadonlyArray<string> => {
  const names = new Set<string>()
  for (const text of texts) {
    for (const user of users) {
      for (let at = text.indexOf(`${user}@`); at >= 0; at = text.indexOf(`${user}@`, at + 1)) {
        HOST.lastIndex = at + user.length
        const name = HOST.exec(text)?.groups?.["name"]
        if (name !== undefined && isBorder(text, at)) names.add(name)
      }
    }
  }
  return [...names]
}

/** No address of mail goes on after it. */
const HOST = /@(?<name>[A-Za-z][A-Za-z\d-]{1,62})(?![\w.-])/uy

const isWord: Counts = (text, start, end) => isBorder(text, start) && !/[A-Za-z\d]/u.test(text[end] ?? "")

const LIST_COLUMN = /[-rwxsStTl]{9}[+.@]?\s{1,4}\d{1,8}\s{1,8}(?:\S{1,40}\s{1,8})?$/u
const ACCOUNT_BEFORE = /(?:~|\b(?:USER|LOGNAME|USERNAME|SUDO_USER)["']?\s?[=:]\s?["']?|[-/\\](?:home|Users)[-/\\])$/u

const isHostAt: Counts = (text, start, end) => text[start - 1] === "@" && isWord(text, start, end)

/** Where a name that is a word too is plainly that of an account. */
const isAccountAt: Counts = (text, start, end) => {
  if (!isWord(text, start, end)) return false
  if (text[end] === "@" && /[A-Za-z]/u.test(text[end + 1] ?? "")) return true
  const before = text.slice(Math.max(0, start - 80), start)
  return ACCOUNT_BEFORE.test(before) || LIST_COLUMN.test(before)
}

const LOCAL = /[\w.%+-]/u
const LOCAL_MAX = 64
const DOMAIN = /@(?:[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?\.){1,5}(?<top>[A-Za-z]{2,24})(?![\w-]|\.[A-Za-z\d])/uy
/** Kept for examples, for addresses nobody reads, and ends of file names. */
const NO_DOMAIN =
  /@(?:\d[^@]*\.[a-z]+|(?:[^@]*\.)?(?:example\.(?:com|net|org)|noreply\.github\.com|localhost\.localdomain|(?:test|invalid|example|localhost|internal|js|ts|jsx|tsx|mjs|cjs|json|png|jpe?g|gif|svg|webp|css|html?|tgz|zip|gz|lock|ya?ml|toml|md|txt|service|socket|target|timer|so|dylib|sock|git|jsonl|xml|vue|rs|sh|java|kt|cpp|hpp|patch|log)))$/iu
/** Mailboxes of programs. */
const NO_LOCAL =
  /^(?:git|hg|svn|no-?reply|do-?not-?reply|noreply\+.*|user|username|name|you|your\.?(?:name|email)|me|someone|foo|bar|test|admin|root|email|\d+)$/iu

const emails = (text: string, findings: Array<Finding>): void => {
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    let start = at
    while (at - start < LOCAL_MAX && start > 0 && LOCAL.test(text.charAt(start - 1))) start--
    if (start === at) continue
    DOMAIN.lastIndex = at
    const domain = DOMAIN.exec(text)?.[0]
    if (domain === undefined || NO_DOMAIN.test(domain)) continue
    start = withoutEscape(text, start, at)
    const local = text.slice(start, at)
    if (local === "" || !/[A-Za-z]/u.test(local) || NO_LOCAL.test(local) || isStandIn(local)) continue
    // `https://user:password@host`: the host is no domain of mail.
    if (/:\/\/[^\s/"'<>]{0,80}$/u.test(text.slice(Math.max(0, start - 84), start))) continue
    const end = at + domain.length
    findings.push({ start, end, rule: NAME_RULES.email, rank: RANK - 0.5, value: text.slice(start, end) })
  }
}

/** Where an address begins that follows an escape: `\nann@...` is not nann's. */
const withoutEscape = (text: string, start: number, at: number): number => {
  if (text[start - 1] === "\\" && start + 1 < at) {
    const unicode = /^u[\da-fA-F]{4}/u.exec(text.slice(start, at))
    if (unicode !== null) return start + unicode[0].length
    if (/[nrtbf]/u.test(text.charAt(start))) return start + 1
  }
  const percent = /^(?:[^%]*%[\da-fA-F]{2})+/u.exec(text.slice(start, at))
  return percent === null ? start : start + percent[0].length
}
