/** Rules for secrets that the text before them identifies: a variable name, a header, an option, a URL. */
import { type RedactionRule } from "../RedactionRule.ts"
import {
  hasRandomValue,
  isAnyPassword,
  isBasicCredentials,
  isKeyMaterial,
  isPassword,
  isRandom,
  isRandomOrShort,
  isStrongPassword
} from "./secretShape.ts"

const context = (
  id: string,
  keywords: ReadonlyArray<string>,
  pattern: string,
  accepts: (secret: string) => boolean,
  flags = "iuy"
): RedactionRule => ({ id, tier: "context", keywords, pattern: new RegExp(pattern, flags), accepts, anywhere: true })

/** A quote, with the escapes of JSON inside JSON. */
const QUOTE = "\\\\{0,7}[\"'`]"
/** Between a name and its value: the name's closing quote or bracket, an assignment, the value's opening quote. */
const ASSIGNED = `(?:${QUOTE}\\s{0,2},\\s{0,12}${QUOTE}value)?(?:${QUOTE})?\\]?\\s{0,4}(?::\\s{0,2}(?:string|str)\\s{0,2}=|=>|:=|={1,3}|!==?|:|\\?\\?=?|\\|\\|=?|%3D)\\s{0,4}`
/** A call's argument, an element of XML, the value of an option. */
const GIVEN = `(?:(?:${QUOTE})?\\s{0,2},\\s{0,2}(?=\\\\{0,7}["'\`])|\\(\\s{0,2}(?=\\\\{0,7}["'\`])|>(?!\\s))`
const BEFORE_VALUE = `(?:${ASSIGNED}|${GIVEN})(?:[a-z]{0,2}${QUOTE})?`

/** Rejects names and calls: `getToken(`, `config.token.value`. */
const VALUE_ENDS = "(?![\\w([])"

const OURS = "\\[REDACTED:[^\\s:\\]]{1,80}:\\d{1,9}\\]"
/** The user name before a password in a URL. The colons inside our placeholders do not end it. */
const user = (character: string): string => `(?:${OURS}|(?!${OURS})${character}){0,80}`
const USER = user("[^\\s:@/?#\"'`<>\\\\]")
const USER_ESCAPED = user("[^\\s:@/?#\"'`<>\\\\%]")

/** Parts of the names of keys and tokens. */
const TOKEN_NAMES = [
  "secret",
  "token",
  "api_key",
  "apikey",
  "api-key",
  "api key",
  "access_key",
  "accesskey",
  "access-key",
  "auth_key",
  "authkey",
  "private_key",
  "privatekey",
  "account_key",
  "accountkey",
  "shared_key",
  "master_key",
  "signing_key",
  "encryption_key",
  "license_key",
  "credential",
  "webhook_key",
  "app_key",
  "appkey",
  "consumer_key",
  "hmac_key",
  "jwt_key",
  "deploy_key",
  "service_key",
  "storage_key",
  "session_key",
  "subscription-key"
]
const PASSWORD_NAMES = ["password", "passwd", "passphrase", "pwd", "_pass", "passcode"]
const SUFFIX = "(?:[\\w-]|\\.(?!js|ts|md|py|go|ya?ml|txt|lock)){0,32}"

const either = (names: ReadonlyArray<string>): string => `(?:${names.join("|")})`

/** Object keys whose values are secrets. Rules cannot match these, because a key and its value are separate strings. */
export const KEY_NAMES: ReadonlyArray<readonly [name: RegExp, rule: string, accepts: (value: string) => boolean]> = [
  [
    new RegExp(`${either(PASSWORD_NAMES)}|^pass$`, "iu"),
    "password",
    (value) => isAnyPassword(value) && !/\s/u.test(value)
  ],
  [
    new RegExp(`${either(TOKEN_NAMES)}|_KEY$|^auth$|authorization`, "iu"),
    "generic-api-key",
    (value) => isRandomOrShort(value) && !/\s/u.test(value)
  ]
]

export const CONTEXT_RULES: ReadonlyArray<RedactionRule> = [
  // Headers
  context(
    "bearer-token",
    ["bearer"],
    `bearer(?:\\s{1,4}|%20|\\+|${QUOTE},?\\s{0,2}${QUOTE})(?<secret>[\\w.~+/=:-]{16,2048})`,
    (secret) => isRandomOrShort(secret) || secret.split(/[._-]/u).some(isRandom)
  ),
  context(
    "authorization-header",
    ["authorization"],
    `authorization${ASSIGNED}(?:[a-z]{0,2}${QUOTE})?(?:token|apikey|key|digest|negotiate|bot|ntlm|aws4-hmac-sha256|oauth)?\\s{0,4}(?<secret>[\\w.~+/=:-]{16,2048})`,
    isRandomOrShort
  ),
  context(
    "basic-auth-header",
    ["basic"],
    "basic(?:\\s{1,4}|%20)(?<secret>[A-Za-z\\d+/_-]{8,512}={0,2})",
    isBasicCredentials
  ),
  context(
    "cookie",
    ["cookie"],
    `cookie(?:${QUOTE})?\\s{0,2}[:=,]\\s{0,4}(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\=;]{1,80}=[^\\r\\n"'\`\\\\]{8,1024})`,
    hasRandomValue
  ),
  // URLs and connection strings
  {
    id: "url-password",
    tier: "context",
    keywords: ["://"],
    pattern: new RegExp(`://${USER}:(?<secret>[^\\s@/"'\`<>\\\\]{1,256})@[\\w.$[{-]`, "uy"),
    anywhere: true,
    accepts: (secret) =>
      secret.length >= 3 &&
      !/^(?:pass(?:word|wd)?|pw|secret|token|pwd|user|postgres|root|guest|\d{1,5})$/iu.test(secret) &&
      !/[${}()]/u.test(secret)
  },
  {
    id: "url-password",
    tier: "context",
    keywords: ["://", "%3a%2f%2f"],
    pattern: new RegExp(`(?:://|%3A%2F%2F)${USER_ESCAPED}%3A(?<secret>[^\\s@/"'\`<>\\\\]{1,256}?)%40`, "iuy"),
    anywhere: true,
    accepts: (secret) => secret.length >= 3
  },
  {
    id: "url-token",
    tier: "context",
    keywords: ["://"],
    pattern: /:\/\/(?<secret>[\w.-]{16,256})@[\w.-]/uy,
    anywhere: true,
    accepts: isRandom
  },
  context(
    "azure-storage-account-key",
    ["accountkey", "sharedaccesskey"],
    "(?:AccountKey|SharedAccessKey)=(?<secret>[A-Za-z\\d+/]{40,100}={0,2})",
    isRandom
  ),
  context("azure-sas-signature", ["sig="], "sig=(?<secret>(?:[A-Za-z\\d+/_-]|%2[BF]){40,100}(?:%3D|=){0,2})", isRandom),
  context(
    "aws-signature",
    ["x-amz-signature=", "x-amz-security-token="],
    "x-amz-(?:signature|security-token)=(?<secret>[\\w%+/=-]{32,2048})",
    isRandom
  ),
  // Names and values
  context(
    "aws-secret-access-key",
    ["secret_access_key", "secretaccesskey", "secret_key", "secretkey", "secret-access-key"],
    `secret_?-?(?:access)?_?-?key${BEFORE_VALUE}(?<secret>(?:[A-Za-z\\d+/]|%2[BF]){40})(?![A-Za-z\\d+/])`,
    isRandom
  ),
  context(
    "generic-api-key",
    TOKEN_NAMES,
    `${either(TOKEN_NAMES)}${SUFFIX}${BEFORE_VALUE}(?<secret>[\\w+/=.~:@!#%^*$-]{10,512})${VALUE_ENDS}`,
    isAssignedToken
  ),
  // Upper case only, as in environment variables. In lower case, `_key` is also the name of any table key.
  context(
    "generic-api-key",
    ["_key"],
    `_KEY${BEFORE_VALUE}(?<secret>[\\w+/=.~-]{16,512})${VALUE_ENDS}`,
    isAssignedToken,
    "uy"
  ),
  context(
    "generic-api-key",
    ["--token", "--api-key", "--apikey", "--secret", "--auth-token", "--access-token", "--key"],
    `--(?:token|api-?key|secret|auth-token|access-token|key)[a-z-]{0,20}(?:=|\\s{1,3})(?:${QUOTE})?(?<secret>[\\w+/=.~-]{16,512})`,
    isAssignedToken
  ),
  context(
    "npm-auth-token",
    ["_authtoken", "_password", "_auth"],
    '_(?:authToken|password|auth)\\s{0,2}=\\s{0,2}"?(?<secret>[\\w+/=.-]{8,512})',
    (secret) => /\d/u.test(secret) && /[a-z]/iu.test(secret)
  ),
  context(
    "heroku-api-key",
    ["heroku"],
    "heroku[\\w .-]{0,24}(?:key|token|secret)[\"'\\\\]{0,4}\\s{0,3}[:=]{1,2}\\s{0,3}[\"'\\\\]{0,4}(?<secret>[\\da-f]{8}-[\\da-f]{4}-[\\da-f]{4}-[\\da-f]{4}-[\\da-f]{12})",
    () => true
  ),
  context("generic-api-key", ["?key=", "&key="], "[?&]key=(?<secret>[\\w-]{24,256})", isAssignedToken),
  context(
    "generic-api-key",
    ["_key", "token", "secret"],
    `(?<=(?:env|setx|set -[a-z]{1,3})\\s{1,3}[A-Z\\d_]{0,40})(?:_KEY|TOKEN|SECRET)\\s{1,3}(?:${QUOTE})?(?<secret>[\\w+/=.-]{12,512})`,
    isAssignedToken
  ),
  context("generic-api-key", ["login("], `login\\(\\s{0,2}${QUOTE}(?<secret>[\\w.-]{24,256})${QUOTE}`, isRandom),
  // Passwords
  context(
    "basic-auth-call",
    ["auth=(", "auth = (", "basicauth("],
    `auth\\s?=?\\s?\\(\\s?${QUOTE}[^"'\`\\\\]{1,80}${QUOTE}\\s?,\\s?${QUOTE}(?<secret>[^\\s"'\`\\\\]{4,200})${QUOTE}`,
    isAnyPassword
  ),
  // In prose, or as the next word of a command. Most such words are not passwords.
  context(
    "password",
    ["password", "passphrase", "passwd"],
    `(?:password|passphrase|passwd)(?: is| was| to)?:?\\s{1,3}(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\<>(){}[\\],;|]{8,100})`,
    isStrongPassword
  ),
  {
    id: "password",
    tier: "context",
    keywords: ["pw:", "pw=", "pass:", "pass="],
    pattern: /(?:pw|pass)\s?[:=]\s?["'`]?(?<secret>[^\s"'`\\<>(){}[\],;|]{6,100})/iuy,
    anywhere: true,
    accepts: isStrongPassword
  },
  context(
    "password",
    PASSWORD_NAMES,
    `${either(PASSWORD_NAMES)}${SUFFIX}(?:${ASSIGNED}|${GIVEN})[a-z]{0,2}(?<quote>${QUOTE})(?<secret>[^\\s\\x1B"'\`\\\\<>]{6,256})\\k<quote>`,
    isPassword
  ),
  context(
    "password",
    PASSWORD_NAMES,
    `${either(PASSWORD_NAMES)}${SUFFIX}(?:${ASSIGNED}|>(?!\\s))(?<secret>[^\\s\\x1B"'\`\\\\<>(){}[\\],;&|]{6,256})(?![\\w([{])`,
    (secret) => isPassword(secret) && !/^[\w$]+(?:\.[\w$]+)+$/u.test(secret)
  ),
  // An environment variable: any value is a password unless it is a reference.
  context(
    "password",
    ["password", "passwd", "_pass", "passphrase", "_pwd"],
    `(?:PASSWORD|PASSWD|_PASS|PASSPHRASE|_PWD)[A-Z\\d_]{0,20}=(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\;&|()<>]{6,256})`,
    isAnyPassword,
    "uy"
  ),
  context(
    "password",
    ["--password", "--passwd", "--passphrase", "--pass"],
    `--pass(?:word|wd|phrase)?(?:=|\\s{1,3})(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\<>-][^\\s"'\`\\\\<>]{5,255})`,
    isPassword
  ),
  context(
    "curl-auth-user",
    ["curl", "wget", "http"],
    `(?:curl|wget|https?)\\b[^\\n\\r]{0,300}?\\s(?:-u|--user|-a)[\\s=]{0,2}(?:${QUOTE})?[^\\s:"'\`\\\\]{1,80}:(?<secret>[^\\s\\x1B"'\`\\\\]{3,200})`,
    (secret) => !/^\d+$|^\/\//u.test(secret) && isAnyPassword(secret)
  ),
  context(
    "mysql-password",
    ["mysql", "mariadb"],
    `(?:mysql|mariadb)[a-z]{0,10}\\s[^\\n\\r|;]{0,160}?-p(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\-][^\\s"'\`\\\\]{3,100})`,
    isPassword
  ),
  context(
    "sshpass",
    ["sshpass"],
    `sshpass\\s{1,3}-p\\s{0,3}(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\]{4,100})`,
    isAnyPassword
  ),
  context(
    "redis-password",
    ["redis-cli"],
    `redis-cli\\s[^\\n\\r|;]{0,120}?(?:-a|--pass)\\s{1,2}(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\]{4,200})`,
    isAnyPassword
  ),
  context(
    "docker-login",
    ["docker login", "podman login", "registry login"],
    `(?:docker|podman|registry) login\\s[^\\n\\r|;]{0,160}?(?:-p|--password)[\\s=]{1,2}(?:${QUOTE})?(?<secret>[^\\s\\x1B"'\`\\\\]{4,300})`,
    isAnyPassword
  ),
  context("openssl-pass", ["pass:"], `pass:(?<secret>[^\\s\\x1B"'\`\\\\]{4,100})`, isPassword),
  context(
    "netrc",
    ["machine"],
    "machine\\s{1,8}\\S{1,200}\\s{1,8}login\\s{1,8}\\S{1,200}\\s{1,8}password\\s{1,8}(?<secret>[^\\s\\x1B\"'`\\\\]{4,300})",
    isAnyPassword
  ),
  context(
    "pgpass",
    [":5432:", ":3306:"],
    "(?<=[\\w.*-]{1,100}):(?:5432|3306):[\\w*-]{1,64}:[\\w*-]{1,64}:(?<secret>[^\\s\\x1B\"'`\\\\]{4,200})",
    isAnyPassword
  ),
  // Files of tools
  context(
    "docker-auth",
    ["auth"],
    `auth${QUOTE}\\s{0,4}:\\s{0,4}${QUOTE}(?<secret>[A-Za-z\\d+/_-]{8,512}={0,2})`,
    isBasicCredentials
  ),
  {
    ...context(
      "kubeconfig-key",
      ["client-key-data", "tls.key"],
      `(?:client-key-data|tls\\.key)(?:${QUOTE})?:\\s{0,4}(?:${QUOTE})?(?<secret>[A-Za-z\\d+/]{40,12000}={0,2})`,
      isKeyMaterial
    ),
    block: true
  },
  context("putty-mac", ["private-mac:"], "Private-MAC:\\s{0,2}(?<secret>[\\da-f]{40,64})", isRandom)
]

const MODEL_OR_FILE =
  /\.(?:js|ts|tsx|json|md|py|go|rs|html|css|ya?ml|toml|sh|txt|lock|com|org|net|io|dev)\b|^(?:claude|gpt|gemini|qwen|llama|mistral)/iu

/** A value after a name such as `token` is a secret if it is random and not a file name, model name or date. */
function isAssignedToken(secret: string): boolean {
  return isRandomOrShort(secret) && !MODEL_OR_FILE.test(secret) && !/^\d{4}-\d\d-\d\d|^[\d.:-]+$/u.test(secret)
}
