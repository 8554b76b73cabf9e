/**
 * Finds data that identifies a person: home directories, user names, host names and e-mail addresses.
 *
 * A user name in a path under `/home` or `/Users` is found in every text. A user name known from the session (its working
 * directory is in that home) is found everywhere as a word. If the name is also a common word, it is found only where an
 * account is meant: before `@`, after `~`, in `ls -l`, in `USER=`.
 */
import { isPlaceholderName } from "./Placeholders.ts"
import { isBorder } from "./internal/border.ts"
import { type Finding, type KeywordFinder, merged } from "./internal/finding.ts"
import { NameSearch } from "./internal/nameSearch.ts"

/** The user and host names of one session. */
export interface KnownNames {
  readonly users: ReadonlyArray<string>
  readonly hosts: ReadonlyArray<string>
}

/** The rule ids of names, as in counts. */
export const NAME_RULES = { home: "home-directory", user: "user-name", host: "host-name", email: "email" } as const

/** After every secret, so that a name inside a secret is replaced as part of it. */
const RANK = 3

/** Accounts of machine images, services and examples. They name no person. */
const ACCOUNTS = new Set(
  (
    "root user users admin administrator ubuntu debian fedora centos alpine ec2-user azureuser opc vagrant docker podman node " +
    "runner runneradmin circleci jenkins travis gitpod codespace codespaces vscode coder devcontainer dev developer app " +
    "appuser web_user www-data nobody nonroot git github gitlab bot agent sandbox build builder ci deploy test tester guest default " +
    "public shared service daemon system localuser home linuxbrew pi oracle postgres mysql redis me you username name " +
    "yourname your-name your-username youruser someone somebody example foo bar alice bob jane john joe"
  ).split(" ")
)

/** Names that are also common words in sessions of coding agents. */
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
  ACCOUNTS.has(name.toLowerCase()) || isPlaceholderName(name) || /^[.\d_-]*$/u.test(name)
const isDistinct = (name: string): boolean => name.length >= DISTINCT_LENGTH && !WORDS.has(name.toLowerCase())

/** `\` with its JSON escapes, `/`, and both as escaped in URLs. */
const SLASH = String.raw`(?:\\{1,8}|\/|%2[Ff]|%5[Cc])`
const IS_FILE = /\.(?:js|ts|jsx|tsx|html?|json|md|py|php|vue)$/iu
const UNIX_HOME = new RegExp(`${SLASH}(?:home|Users)${SLASH}(?<name>[\\w.-]{1,64})(?![\\w.-])`, "uy")
/** Windows names may contain spaces. A space is part of the name only if the path continues after it. */
const WINDOWS_HOME = new RegExp(
  `${SLASH}{1,4}Users${SLASH}{1,4}(?<name>[^\\\\/:*?"<>|%\\r\\n]{1,64}(?=${SLASH})|[\\w.-]{1,64}(?![\\w.-]))`,
  "iuy"
)
const WINDOWS_DRIVE = /(?:(?<![A-Za-z])[A-Za-z](?::|%3A)|(?:\\{1,8}|\/|%2F)mnt(?:\\{1,8}|\/|%2F)[a-z])$/iu

/** The user names of the home directories that contain these paths. */
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

/** Finds the user name of a home directory. `at` is the last character of the slash before `home` or `Users`. */
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

/** Finds home directories in the same pass as secrets. */
export const HOMES: KeywordFinder = {
  keywords: ["/home/", "\\home\\", "%2fhome%2f", "/users/", "\\users\\", "%2fusers%2f", "%5cusers%5c"],
  find: (text, start) => homeAt(text, text[start] === "%" ? start + 2 : start)
}

/** `/home/ann` after a letter continues another path, as in `src/home/index`. */
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

/** Finds known names and e-mail addresses. `HOMES` finds home directories. */
export class PersonalNames {
  readonly #users: NameSearch
  readonly #hosts: NameSearch

  constructor({ hosts, users }: KnownNames) {
    this.#users = new NameSearch(users.filter((name) => name.length > 1 && !isAccount(name)))
    this.#hosts = new NameSearch(hosts.filter((name) => name.length > 1 && !isAccount(name) && name !== "localhost"))
  }

  find(text: string): ReadonlyArray<Finding> {
    return merged(this.collect(text))
  }

  /** Unsorted; findings may overlap. */
  collect(text: string): Array<Finding> {
    const findings: Array<Finding> = []
    const add = (rule: string, isCommonAt: IsName) => (name: string, start: number) => {
      const end = start + name.length
      const isName = isDistinct(name) ? isWord : isCommonAt
      if (isName(text, start, end)) findings.push({ start, end, rule, rank: RANK, value: name })
    }
    this.#users.search(text, add(NAME_RULES.user, isAccountAt))
    this.#hosts.search(text, add(NAME_RULES.host, isHostAt))
    if (text.includes("@")) emails(text, findings)
    return findings
  }
}

type IsName = (text: string, start: number, end: number) => boolean

/** The host names in shell prompts of these users, such as `ann@laptop:~$`. */
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

/** Rejects e-mail addresses, which continue after the host. */
const HOST = /@(?<name>[A-Za-z][A-Za-z\d-]{1,62})(?![\w.-])/uy

const isWord: IsName = (text, start, end) => isBorder(text, start) && !/[A-Za-z\d]/u.test(text[end] ?? "")

const LIST_COLUMN = /[-rwxsStTl]{9}[+.@]?\s{1,4}\d{1,8}\s{1,8}(?:\S{1,40}\s{1,8})?$/u
const ACCOUNT_BEFORE = /(?:~|\b(?:USER|LOGNAME|USERNAME|SUDO_USER)["']?\s?[=:]\s?["']?|[-/\\](?:home|Users)[-/\\])$/u

const isHostAt: IsName = (text, start, end) => text[start - 1] === "@" && isWord(text, start, end)

/** Whether a name that is also a common word is an account here. */
const isAccountAt: IsName = (text, start, end) => {
  if (!isWord(text, start, end)) return false
  if (text[end] === "@" && /[A-Za-z]/u.test(text[end + 1] ?? "")) return true
  const before = text.slice(Math.max(0, start - 80), start)
  return ACCOUNT_BEFORE.test(before) || LIST_COLUMN.test(before)
}

const LOCAL = /[\w.%+-]/u
const LOCAL_MAX = 64
const DOMAIN = /@(?:[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?\.){1,5}(?<top>[A-Za-z]{2,24})(?![\w-]|\.[A-Za-z\d])/uy
/** Reserved and no-reply domains, and file names such as `icon@2x.png`. */
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
    if (local === "" || !/[A-Za-z]/u.test(local) || NO_LOCAL.test(local) || isPlaceholderName(local)) continue
    // In `https://user:password@host` the host is not a mail domain.
    if (/:\/\/[^\s/"'<>]{0,80}$/u.test(text.slice(Math.max(0, start - 84), start))) continue
    const end = at + domain.length
    findings.push({ start, end, rule: NAME_RULES.email, rank: RANK - 0.5, value: text.slice(start, end) })
  }
}

/** Skips an escape before an address: in `\nann@...` the address begins at `ann`. */
const withoutEscape = (text: string, start: number, at: number): number => {
  if (text[start - 1] === "\\" && start + 1 < at) {
    const unicode = /^u[\da-fA-F]{4}/u.exec(text.slice(start, at))
    if (unicode !== null) return start + unicode[0].length
    if (/[nrtbf]/u.test(text.charAt(start))) return start + 1
  }
  const percent = /^(?:[^%]*%[\da-fA-F]{2})+/u.exec(text.slice(start, at))
  return percent === null ? start : start + percent[0].length
}
