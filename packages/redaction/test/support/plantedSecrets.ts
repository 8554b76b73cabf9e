/**
 * Generates secrets of many kinds from a seed. None is real, and none is written in this repository, where secret scanners
 * would report it.
 */
import { Buffer } from "node:buffer"
import { type SeededRandom } from "@pi-sessions/testing/SeededRandom"

/** A secret, and a text that contains it with its usual context. */
export interface Planted {
  readonly text: string
  readonly secret: string
}

const LOWER = "abcdefghijklmnopqrstuvwxyz"
const UPPER = LOWER.toUpperCase()
const DIGITS = "0123456789"
const ALPHANUMERIC = UPPER + LOWER + DIGITS
const HEX = `${DIGITS}abcdef`
const BASE32 = `${UPPER}234567`
const BASE64URL = `${ALPHANUMERIC}-_`
const BASE64 = `${ALPHANUMERIC}+/`

export const characters = (random: SeededRandom, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet.charAt(random.int(alphabet.length))).join("")

type Make = (random: SeededRandom) => Planted

/** A prefix, then `length` characters of an alphabet. */
const token =
  (prefix: string, alphabet: string, length: number, suffix = ""): Make =>
  (random) => {
    const secret = `${prefix}${characters(random, alphabet, length)}${suffix}`
    return { text: secret, secret }
  }

/** A secret in a text; it replaces `@`. */
const within =
  (template: string, secret: (random: SeededRandom) => string): Make =>
  (random) => {
    const value = secret(random)
    return { text: template.replace("@", () => value), secret: value }
  }

const random = (alphabet: string, length: number) => (source: SeededRandom) => characters(source, alphabet, length)

/** A password as people choose them: words, a number, a symbol. */
const password = (source: SeededRandom): string =>
  `${source.pick(["Correct", "Harbour", "Winter", "Quokka", "Zephyr", "Mellow"])}${source.pick(["Horse", "Lantern", "River", "Stone"])}${source.pick(["!", "#", "%", "*", "?"])}${10 + source.int(9989)}`

const uuid = (source: SeededRandom): string =>
  `${characters(source, HEX, 8)}-${characters(source, HEX, 4)}-4${characters(source, HEX, 3)}-a${characters(source, HEX, 3)}-${characters(source, HEX, 12)}`

const base64Lines = (source: SeededRandom, lines: number, newline: string): string =>
  Array.from({ length: lines }, () => characters(source, BASE64, 64)).join(newline)

const pem =
  (kind: string, newline: string, end = true): Make =>
  (source) => {
    const secret = base64Lines(source, 6, newline)
    const name = [kind, "PRIVATE", "KEY"].filter((part) => part !== "").join(" ")
    const dashes = "-".repeat(5)
    const last = end ? `${newline}${dashes}END ${name}${dashes}` : ""
    return { text: `${dashes}BEGIN ${name}${dashes}${newline}${secret}${last}`, secret }
  }

/** An Ed25519 key as `ssh-keygen` writes it without a passphrase: its head is the same in all, with many zero bytes. */
const openSsh: Make = (source) => {
  const text = (value: string) => `\0\0\0${String.fromCodePoint(value.length)}${value}`
  const head = `openssh-key-v1\0${text("none")}${text("none")}${text("")}\0\0\0\u0001\0\0\0\u0033${text("ssh-ed25519")}`
  const rest = Uint8Array.from({ length: 190 }, () => source.int(256))
  const base64 = Buffer.concat([Buffer.from(head), rest]).toString("base64")
  const secret = base64.replaceAll(/.{70}/gu, "$&\n")
  const name = ["OPENSSH", "PRIVATE", "KEY"].join(" ")
  const dashes = "-".repeat(5)
  return { text: `${dashes}BEGIN ${name}${dashes}\n${secret}\n${dashes}END ${name}${dashes}`, secret }
}

const jsonBase64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const jwt: Make = (source) => {
  const payload = jsonBase64({ sub: characters(source, DIGITS, 10), iat: source.int(1e9) })
  const secret = `${jsonBase64({ alg: "HS256", typ: "JWT" })}.${payload}.${characters(source, BASE64URL, 43)}`
  return { text: secret, secret }
}

const basic = (source: SeededRandom): string => Buffer.from(`deploy:${password(source)}`).toString("base64")

/** Secrets with a known form. */
export const PREFIXED: { readonly [kind: string]: Make } = {
  "github-pat": token("ghp_", ALPHANUMERIC, 36),
  "github-oauth": token("gho_", ALPHANUMERIC, 36),
  "github-server": token("ghs_", ALPHANUMERIC, 36),
  "github-refresh": token("ghr_", ALPHANUMERIC, 76),
  "github-fine-grained": token("github_pat_", ALPHANUMERIC, 82),
  "gitlab-pat": token("glpat-", BASE64URL, 20),
  "gitlab-runner": token("glrt-", BASE64URL, 20),
  atlassian: token("ATATT3", BASE64URL, 186),
  buildkite: token("bkua_", `${LOWER}${DIGITS}`, 40),
  sourcegraph: token("sgp_", HEX, 40),
  sonar: token("squ_", HEX, 40),
  linear: token("lin_api_", ALPHANUMERIC, 40),
  "aws-access-key-id": token("AKIA", BASE32, 16),
  "aws-session-key-id": token("ASIA", BASE32, 16),
  "gcp-api-key": token("AIza", BASE64URL, 35),
  "gcp-client-secret": token("GOCSPX-", BASE64URL, 28),
  "gcp-access-token": token("ya29.", BASE64URL, 120),
  "azure-ad-client-secret": (source) => {
    const secret = `${characters(source, ALPHANUMERIC, 3)}8Q~${characters(source, ALPHANUMERIC, 34)}`
    return { text: secret, secret: secret.slice(3) }
  },
  digitalocean: token("dop_v1_", HEX, 64),
  doppler: token("dp.pt.", ALPHANUMERIC, 43),
  databricks: token("dapi", HEX, 32),
  dynatrace: (source) => {
    const secret = `dt0c01.${characters(source, BASE32, 24)}.${characters(source, BASE32, 64)}`
    return { text: secret, secret }
  },
  netlify: token("nfp_", ALPHANUMERIC, 36),
  planetscale: token("pscale_tkn_", BASE64URL, 43),
  pulumi: token("pul-", HEX, 40),
  supabase: token("sbp_", HEX, 40),
  tailscale: token("tskey-auth-", ALPHANUMERIC, 32),
  vault: token("hvs.", BASE64URL, 90),
  age: token("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
  anthropic: token("sk-ant-api03-", BASE64URL, 93, "AA"),
  "anthropic-oauth": token("sk-ant-oat01-", BASE64URL, 93, "AA"),
  "openai-project": token("sk-proj-", BASE64URL, 120),
  "openai-legacy": (source) => {
    const secret = `sk-${characters(source, ALPHANUMERIC, 20)}T3BlbkFJ${characters(source, ALPHANUMERIC, 20)}`
    return { text: secret, secret }
  },
  deepseek: token("sk-", HEX, 32),
  openrouter: token("sk-or-v1-", HEX, 64),
  "hugging-face": token("hf_", ALPHANUMERIC, 34),
  groq: token("gsk_", ALPHANUMERIC, 52),
  replicate: token("r8_", ALPHANUMERIC, 37),
  perplexity: token("pplx-", ALPHANUMERIC, 48),
  xai: token("xai-", ALPHANUMERIC, 80),
  nvidia: token("nvapi-", BASE64URL, 64),
  langsmith: (source) => {
    const secret = `lsv2_pt_${characters(source, HEX, 32)}_${characters(source, HEX, 10)}`
    return { text: secret, secret }
  },
  npm: token("npm_", ALPHANUMERIC, 36),
  pypi: token("pypi-AgEIcHlwaS5vcmc", BASE64URL, 120),
  rubygems: token("rubygems_", HEX, 48),
  "docker-hub": token("dckr_pat_", BASE64URL, 27),
  jfrog: token("AKCp", ALPHANUMERIC, 69),
  "slack-bot": (source) => {
    const secret = `xoxb-${characters(source, DIGITS, 12)}-${characters(source, DIGITS, 12)}-${characters(source, ALPHANUMERIC, 24)}`
    return { text: secret, secret }
  },
  "slack-app": (source) => {
    const secret = `xapp-1-A${characters(source, BASE32, 10)}-${characters(source, DIGITS, 13)}-${characters(source, HEX, 64)}`
    return { text: secret, secret }
  },
  "slack-webhook": (source) => {
    const secret = `T${characters(source, BASE32, 8)}/B${characters(source, BASE32, 8)}/${characters(source, ALPHANUMERIC, 24)}`
    return { text: `https://hooks.slack.com/services/${secret}`, secret }
  },
  "discord-webhook": (source) => {
    const secret = characters(source, BASE64URL, 68)
    return { text: `https://discord.com/api/webhooks/${characters(source, "123456789", 18)}/${secret}`, secret }
  },
  "telegram-bot": (source) => {
    const secret = `AA${characters(source, BASE64URL, 33)}`
    return { text: `${characters(source, "123456789", 10)}:${secret}`, secret }
  },
  sendgrid: (source) => {
    const secret = `SG.${characters(source, BASE64URL, 22)}.${characters(source, BASE64URL, 43)}`
    return { text: secret, secret }
  },
  mailgun: token("key-", HEX, 32),
  mailchimp: token("", HEX, 32, "-us12"),
  "stripe-live": token("sk_live_", ALPHANUMERIC, 24),
  "stripe-restricted": token("rk_live_", ALPHANUMERIC, 98),
  "stripe-webhook": token("whsec_", ALPHANUMERIC, 32),
  shopify: token("shpat_", HEX, 32),
  square: token("sq0atp-", BASE64URL, 22),
  facebook: token("EAAC", ALPHANUMERIC, 160),
  figma: token("figd_", BASE64URL, 40),
  notion: token("ntn_", ALPHANUMERIC, 46),
  postman: (source) => {
    const secret = `PMAK-${characters(source, HEX, 24)}-${characters(source, HEX, 34)}`
    return { text: secret, secret }
  },
  hubspot: (source) => {
    const secret = `pat-na1-${uuid(source)}`
    return { text: secret, secret }
  },
  "new-relic": token("NRAK-", BASE32, 27),
  grafana: (source) => {
    const secret = `glsa_${characters(source, ALPHANUMERIC, 32)}_${characters(source, HEX, 8)}`
    return { text: secret, secret }
  },
  sentry: token("sntryu_", HEX, 64),
  jwt: jwt,
  "password-hash": (source) => {
    const secret = `$2b$12$${characters(source, ALPHANUMERIC, 53)}`
    return { text: secret, secret }
  }
}

/** Secrets that only the text before them identifies. */
export const CONTEXT: { readonly [kind: string]: Make } = {
  "environment-api-key": within("export MISTRAL_API_KEY=@", random(ALPHANUMERIC, 32)),
  "environment-password": within("DB_PASSWORD=@", password),
  "environment-plain-password": within("POSTGRES_PASSWORD=@", random(LOWER, 12)),
  "environment-hex-token": within("DEEPGRAM_TOKEN=@", random(HEX, 40)),
  "json-api-key": within('{"api_key": "@", "region": "eu"}', random(ALPHANUMERIC, 40)),
  "json-password": within('{"user": "svc", "password": "@"}', password),
  "camel-case-key": within('const client = new Client({ apiKey: "@" })', random(ALPHANUMERIC, 32)),
  "python-keyword": within('connect(host="db", password="@")', password),
  "yaml-password": within("database:\n  password: @\n  port: 5432", password),
  "yaml-token": within("auth:\n  token: @", random(BASE64URL, 43)),
  "toml-secret": within('client_secret = "@"', random(ALPHANUMERIC, 40)),
  "ini-aws-secret": within("aws_secret_access_key = @", random(BASE64, 40)),
  "json-aws-secret": within('"SecretAccessKey": "@"', random(BASE64, 40)),
  "properties-password": within("spring.datasource.password=@", password),
  "xml-element": within("<add><apiKey>@</apiKey></add>", random(ALPHANUMERIC, 32)),
  "call-argument": within('setItem("access_token", "@")', random(ALPHANUMERIC, 40)),
  "header-bearer": within("Authorization: Bearer @", random(BASE64URL, 64)),
  "header-basic": within("Authorization: Basic @", basic),
  "header-token": within("Authorization: token @", random(HEX, 40)),
  "header-api-key": within("x-api-key: @", random(ALPHANUMERIC, 40)),
  "json-header": within('"Authorization": "Bearer @"', random(BASE64URL, 64)),
  cookie: within("Cookie: theme=dark; session=@", random(ALPHANUMERIC, 40)),
  "set-cookie": within("set-cookie: sid=@; Path=/; HttpOnly", random(ALPHANUMERIC, 32)),
  "url-query": within("https://api.acme.dev/v1/items?access_token=@&page=2", random(ALPHANUMERIC, 40)),
  "url-password": within("postgres://svc:@@db.internal:5432/app".replace(":@@", ":@\u0000"), password),
  "url-token": within("https://@\u0000git.acme.dev/team/repo.git", random(ALPHANUMERIC, 40)),
  "mongodb-url": within("mongodb+srv://app:@\u0000cluster0.abcde.mongodb.net/prod", random(ALPHANUMERIC, 16)),
  "redis-url": within("redis://:@\u0000cache:6379/0", random(ALPHANUMERIC, 24)),
  "ado-connection": within("Server=tcp:db;Database=app;User Id=svc;Password=@;Encrypt=true", password),
  "azure-account-key": within(
    "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=@",
    (source) => `${characters(source, BASE64, 86)}==`
  ),
  "azure-sas": within(
    "https://acme.blob.core.windows.net/c?sv=2024-01-01&sig=@",
    (source) => `${characters(source, ALPHANUMERIC, 43)}%3D`
  ),
  "curl-user": within("curl -s -u deploy:@ https://ci.acme.dev/job", password),
  "mysql-option": within("mysql -h db -u root -p@ app", password),
  "option-token": within("deployctl push --token @ --prod", random(ALPHANUMERIC, 36)),
  "option-password": within("psqlx --password=@ --host db", password),
  sshpass: within("sshpass -p @ ssh host", password),
  "docker-login": within("docker login -u bot -p @ registry.acme.dev", random(ALPHANUMERIC, 32)),
  "docker-config": within('{"auths":{"registry.acme.dev":{"auth":"@"}}}', basic),
  npmrc: within("//registry.npmjs.org/:_authToken=@", uuid),
  pypirc: within("[pypi]\nusername = svc\npassword = @", password),
  netrc: within("machine api.acme.dev login svc password @", password),
  pgpass: within("db.acme.dev:5432:app:svc:@", password),
  "kubeconfig-key": within("    client-key-data: @", random(BASE64, 200)),
  "kubeconfig-token": within("users:\n- name: svc\n  user:\n    token: @", random(BASE64URL, 60)),
  heroku: within("HEROKU_API_KEY=@", uuid),
  wireguard: within("[Interface]\nPrivateKey = @", (source) => `${characters(source, BASE64, 42)}A=`),
  "openssl-pass": within("openssl rsa -passin pass:@ -in key.pem", password),
  "signed-url": within("https://s3.amazonaws.com/b/k?X-Amz-Expires=60&X-Amz-Signature=@", random(HEX, 64)),
  "dockerfile-env": within("ENV NPM_TOKEN @", random(ALPHANUMERIC, 32)),
  "fish-variable": within("set -x API_KEY @", random(ALPHANUMERIC, 32)),
  "powershell-variable": within('$env:API_KEY="@"', random(ALPHANUMERIC, 32)),
  "json-name-and-value": within('{"Key": "ApiKey", "Value": "@"}', random(ALPHANUMERIC, 32)),
  "url-key": within("https://maps.acme.dev/api?key=@&zoom=3", random(ALPHANUMERIC, 39)),
  "bot-login": within('client.login("@")', random(ALPHANUMERIC, 59)),
  "python-auth": within('requests.get(url, auth=("svc", "@"))', password),
  sentence: within("the password is @", password),
  "kubectl-literal": within("kubectl create secret generic db --from-literal=password=@", password),
  "go-assignment": within('token := "@"', random(ALPHANUMERIC, 32)),
  "jdbc-url": within("jdbc:mysql://db/app?user=svc&password=@", password),
  "signed-cookie": within('Cookie: "connect.sid=s%3A@.sig"', random(ALPHANUMERIC, 40)),
  "pem-rsa": pem("RSA", "\n"),
  "pem-pkcs8": pem("", "\n"),
  "pem-openssh": openSsh,
  "pem-cut-off": pem("EC", "\n", false),
  "pem-in-json": pem("", "\\n")
}

const restored =
  (make: Make): Make =>
  (source) => {
    const { secret, text } = make(source)
    return { secret, text: text.replaceAll("\u0000", "@") }
  }

export const KINDS: ReadonlyMap<string, Make> = new Map(
  Object.entries({ ...PREFIXED, ...CONTEXT }).map(([kind, make]) => [kind, restored(make)])
)

/** Puts a text into other texts. */
export const PLACES: { readonly [place: string]: (text: string) => string } = {
  alone: (text) => text,
  "at the start": (text) => `${text}\nand nothing else`,
  "at the end": (text) => `the value follows\n${text}`,
  "in a sentence": (text) => `It was ${text} until yesterday.`,
  "in many lines": (text) => `line one\nline two\n${text}\nline four\n`.repeat(2),
  "after CRLF": (text) => `C:\\work> type conf\r\n${text}\r\nC:\\work>`,
  "in a diff": (text) =>
    text
      .split("\n")
      .map((line) => `+${line}`)
      .join("\n"),
  "in quotes": (text) => (/["']/u.test(text) ? text : `"${text}"`),
  "in backticks": (text) => `run \`${text}\` first`,
  "in JSON": (text) => JSON.stringify({ output: `ok\n${text}\n` }),
  "in JSON in JSON": (text) => JSON.stringify({ body: JSON.stringify({ output: `ok\n\t${text}\n` }) }),
  "in colour": (text) => `\u001B[31m${text}\u001B[0m`,
  "after other scripts": (text) => `日本語 ${text} привет`
}

/** Other places, only for secrets with a known form. */
export const TOKEN_PLACES: { readonly [place: string]: (text: string) => string } = {
  "in a variable": (text) => `SOMETHING=${text}`,
  "on Windows": (text) => `set SOMETHING=${text}\r\nC:\\Users\\Public>echo %SOMETHING%`,
  "in a URL's query": (text) => `https://acme.dev/cb?state=1&v=${encodeURIComponent(text)}&x=2`,
  "in an encoded URL": (text) => `next=${encodeURIComponent(`https://acme.dev/cb?v=${encodeURIComponent(text)}`)}`,
  "in an array": (text) => `["${text}","b"]`,
  "in a path": (text) => `/var/run/${text}`
}
