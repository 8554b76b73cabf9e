/** Rules for secrets with a known form, most often a prefix, as their makers document it. */
import { type RedactionRule } from "../RedactionRule.ts"
import { entropy, isKeyMaterial, isRandom } from "./secretShape.ts"

const escaped = (literal: string): string => literal.replaceAll(/[.$*+?^|()[\]{}\\]/gu, "\\$&")

/** A rule for values that begin with one of the prefixes (case-sensitive), followed by `rest`. */
const prefixed = (
  id: string,
  prefixes: string | ReadonlyArray<string>,
  rest: string,
  accepts: (secret: string) => boolean = isVaried
): RedactionRule => {
  const all = typeof prefixes === "string" ? [prefixes] : prefixes
  return {
    id,
    tier: "prefixed",
    keywords: all.map((prefix) => prefix.toLowerCase()),
    pattern: new RegExp(`(?:${all.map(escaped).join("|")})${rest}`, "uy"),
    accepts
  }
}

/** A slash, plain, escaped for JSON, or escaped for URLs up to three times. */
const SLASH = "(?:\\\\?/|%(?:25){0,2}2F)"

/** A line break inside a block: plain, escaped, with quotes around each line, or a space. */
const LINE_BREAK = "[\\s\\\\\"'+,|]{0,12}(?:\\\\[nr]|\\s)(?:[\\s\"'+,|\\\\]|\\\\[nr]){0,60}"

/** Rejects repetitions of few characters. */
const isVaried = (secret: string): boolean => entropy(secret) > 2.5

/** For prefixes that are also beginnings of words. */
const endsRandom = (secret: string): boolean => isRandom(secret.slice(secret.search(/[-_.]/u) + 1))

/** Ids are those of gitleaks where it has the same rule. */
export const PREFIXED_RULES: ReadonlyArray<RedactionRule> = [
  // Code hosting and continuous integration
  prefixed("github-pat", "ghp_", "[A-Za-z\\d]{36,255}"),
  prefixed("github-fine-grained-pat", "github_pat_", "\\w{36,255}"),
  prefixed("github-oauth", "gho_", "[A-Za-z\\d]{36,255}"),
  prefixed("github-app-token", ["ghu_", "ghs_"], "[A-Za-z\\d]{36,255}"),
  prefixed("github-refresh-token", "ghr_", "[A-Za-z\\d]{36,255}"),
  prefixed(
    "gitlab-pat",
    ["glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "glimt-", "glagent-", "gloas-", "glptt-", "GR1348941", "glcbt-"],
    "[\\w.-]{20,300}"
  ),
  prefixed("atlassian-api-token", ["ATATT3", "ATCTT3"], "[\\w=-]{60,400}"),
  prefixed("bitbucket-app-password", "ATBB", "[A-Za-z\\d]{28,60}", isRandom),
  prefixed("buildkite-token", ["bkua_", "bkpt_", "bkaj_"], "[a-z\\d]{40,80}"),
  prefixed("circleci-token", "CCIPAT_", "[A-Za-z\\d_]{40,120}"),
  prefixed("sourcegraph-access-token", ["sgp_", "slk_"], "[A-Za-z\\d_]{40,120}"),
  prefixed("sonar-api-token", ["squ_", "sqp_", "sqa_"], "[A-Za-z\\d]{40,60}"),
  prefixed("infracost-api-token", "ico-", "[A-Za-z\\d]{32,60}", isRandom),
  prefixed("linear-api-key", ["lin_api_", "lin_oauth_"], "[A-Za-z\\d]{32,80}"),
  prefixed("readme-api-token", "rdme_", "[a-z\\d]{60,90}"),
  prefixed("snyk-api-token", ["snyk_uat.", "snyk_sat."], "[\\w.-]{30,300}"),
  prefixed("sentry-user-token", ["sntryu_", "sntrys_"], "[\\w=+/-]{40,400}"),
  // Clouds
  prefixed("aws-access-token", ["AKIA", "ASIA", "ABIA", "ACCA"], "[A-Z2-7]{16}(?![A-Za-z\\d])", isVaried),
  prefixed("aws-amazon-bedrock-api-key-long-lived", "ABSK", "[A-Za-z\\d+/]{100,300}={0,2}"),
  prefixed("gcp-api-key", "AIza", "[\\w-]{35,60}", isRandom),
  prefixed("gcp-oauth-client-secret", "GOCSPX-", "[\\w-]{20,60}"),
  prefixed("gcp-oauth-access-token", "ya29.", "[\\w-]{30,1024}"),
  prefixed("gcp-oauth-refresh-token", "1//0", "[\\w-]{40,300}"),
  {
    id: "azure-ad-client-secret",
    tier: "prefixed",
    keywords: ["7q~", "8q~", "9q~"],
    pattern: /(?<=(?=(?<secret>[\w.~-]{3}[789]Q~[\w.~-]{31,34}))[\w.~-]{3})[789]Q~/uy,
    accepts: isRandom
  },
  prefixed("alibaba-access-key-id", "LTAI", "[A-Za-z\\d]{16,26}", isRandom),
  prefixed("digitalocean-access-token", ["dop_v1_", "doo_v1_", "dor_v1_"], "[a-f\\d]{64}"),
  prefixed("doppler-api-token", ["dp.pt.", "dp.st.", "dp.sa.", "dp.ct."], "[\\w.-]{40,120}"),
  prefixed("databricks-api-token", "dapi", "[a-f\\d]{32}(?:-\\d{1,2})?", isRandom),
  prefixed("dynatrace-api-token", ["dt0c01.", "dt0s01."], "[A-Z\\d]{24}\\.[A-Z\\d]{64}"),
  prefixed("flyio-access-token", ["fo1_", "fm1r_", "fm2_"], "[\\w+/=,-]{40,1024}"),
  prefixed("cloudflare-origin-ca-key", "v1.0-", "[a-f\\d]{24}-[a-f\\d]{100,160}"),
  prefixed("hashicorp-tf-api-token", "atlasv1.", "[\\w=-]{60,80}"),
  prefixed("heroku-api-key-v2", ["HRKU-AA", "HRKU-"], "[\\w-]{36,70}"),
  prefixed("netlify-access-token", "nfp_", "[A-Za-z\\d]{36,60}"),
  prefixed("planetscale-api-token", ["pscale_tkn_", "pscale_oauth_", "pscale_pw_"], "[\\w.=-]{32,80}"),
  prefixed("prefect-api-token", ["pnu_", "pnb_"], "[a-zA-Z\\d]{36}"),
  prefixed("pulumi-api-token", "pul-", "[a-f\\d]{40}"),
  prefixed("render-api-key", "rnd_", "[A-Za-z\\d]{28,60}", endsRandom),
  prefixed("scalingo-api-token", "tk-us-", "[\\w-]{48}"),
  prefixed("supabase-token", ["sbp_", "sb_secret_"], "[\\w-]{30,80}", endsRandom),
  prefixed("tailscale-key", ["tskey-"], "[a-z]{2,12}-[A-Za-z\\d-]{20,120}"),
  prefixed("vault-service-token", ["hvs.", "hvb.", "hvr."], "[\\w-]{24,300}"),
  prefixed("1password-service-account-token", "ops_eyJ", "[A-Za-z\\d+/=]{100,2048}"),
  prefixed(
    "1password-secret-key",
    "A3-",
    "[A-Z\\d]{6}-(?:[A-Z\\d]{11}|[A-Z\\d]{6}-[A-Z\\d]{5})-[A-Z\\d]{5}-[A-Z\\d]{5}-[A-Z\\d]{5}"
  ),
  prefixed("age-secret-key", "AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
  // Models
  prefixed("anthropic-api-key", "sk-ant-", "[\\w-]{24,200}"),
  prefixed("openai-api-key", ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], "[\\w-]{32,300}"),
  prefixed("openrouter-api-key", "sk-or-v1-", "[a-f\\d]{48,80}"),
  prefixed("langfuse-secret-key", "sk-lf-", "[a-f\\d-]{36}"),
  prefixed("openai-api-key", "sk-", "[A-Za-z\\d]{32,100}", endsRandom),
  prefixed("huggingface-access-token", "hf_", "[A-Za-z]{30,60}", (secret) => entropy(secret) > 3.8),
  prefixed("huggingface-access-token", ["hf_", "api_org_"], "[A-Za-z\\d]{30,60}", endsRandom),
  prefixed("groq-api-key", "gsk_", "[A-Za-z\\d]{40,80}"),
  prefixed("replicate-api-token", "r8_", "[A-Za-z\\d]{32,60}", endsRandom),
  prefixed("perplexity-api-key", "pplx-", "[A-Za-z\\d]{40,80}"),
  prefixed("xai-api-key", "xai-", "[A-Za-z\\d]{60,120}"),
  prefixed("nvidia-api-key", "nvapi-", "[\\w-]{40,120}"),
  prefixed("fireworks-api-key", ["fw_", "fpk_"], "[A-Za-z\\d]{20,60}", endsRandom),
  prefixed("langsmith-api-key", ["lsv2_pt_", "lsv2_sk_", "ls__"], "[a-f\\d]{32}(?:_[a-f\\d]{10})?"),
  prefixed("tavily-api-key", "tvly-", "(?:dev-|prod-)?[A-Za-z\\d]{20,60}", endsRandom),
  prefixed("elevenlabs-api-key", "sk_", "[a-f\\d]{48}"),
  prefixed("cerebras-api-key", "csk-", "[a-z\\d]{40,60}", endsRandom),
  prefixed("firecrawl-api-key", "fc-", "[a-f\\d]{32}", endsRandom),
  // Packages
  prefixed("npm-access-token", "npm_", "[A-Za-z\\d]{36,60}", endsRandom),
  prefixed("pypi-upload-token", "pypi-", "AgE[\\w-]{50,1000}"),
  prefixed("rubygems-api-token", "rubygems_", "[a-f\\d]{48}"),
  prefixed("nuget-api-key", "oy2", "[a-z\\d]{43}", isRandom),
  prefixed("clojars-api-token", "CLOJARS_", "[a-zA-Z\\d]{60}"),
  prefixed("crates-io-token", "cio", "[A-Za-z\\d]{32}", isRandom),
  prefixed("jfrog-api-key", ["AKCp", "cmVmdGtu"], "[A-Za-z\\d]{55,80}"),
  prefixed("docker-pat", ["dckr_pat_", "dckr_oat_"], "[\\w-]{24,60}"),
  // Messages and mail
  prefixed(
    "slack-token",
    ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxe-", "xoxe."],
    "[\\w%.-]{20,400}"
  ),
  prefixed("slack-app-token", "xapp-", "\\d-[A-Z\\d]{6,20}-\\d{6,20}-[a-f\\d]{20,100}"),
  {
    id: "slack-webhook-url",
    tier: "prefixed",
    keywords: ["hooks.slack.com"],
    pattern: new RegExp(
      `hooks\\.slack\\.com${SLASH}(?:services|workflows|triggers)${SLASH}(?<secret>[A-Z\\d]{5,16}${SLASH}(?:[A-Za-z\\d]|${SLASH}){16,120})`,
      "iuy"
    ),
    anywhere: true
  },
  {
    id: "discord-webhook-url",
    tier: "prefixed",
    keywords: ["webhooks"],
    pattern: new RegExp(`webhooks${SLASH}\\d{15,22}${SLASH}(?<secret>[\\w-]{50,100})`, "iuy"),
    anywhere: true
  },
  {
    id: "microsoft-teams-webhook",
    tier: "prefixed",
    keywords: ["webhook.office.com/"],
    pattern:
      /webhook\.office\.com\/webhookb2\/(?<secret>[\w@-]{36,120}\/IncomingWebhook\/[a-f\d]{32}\/[\w-]{36,100})/iuy,
    anywhere: true
  },
  {
    id: "telegram-bot-api-token",
    tier: "prefixed",
    keywords: [":aa", "%3aaa", "%253aaa"],
    pattern: /(?<=(?<!\d)\d{8,10})(?::|%(?:25)?3A)(?<secret>AA[\w-]{32,34})(?![\w-])/uy,
    anywhere: true
  },
  prefixed("sendgrid-api-token", "SG.", "[\\w-]{16,32}\\.[\\w-]{32,64}"),
  prefixed("sendinblue-api-token", "xkeysib-", "[a-f\\d]{64}-[A-Za-z\\d]{16}"),
  prefixed("mailgun-private-api-token", "key-", "[a-f\\d]{32}(?![A-Za-z\\d])", endsRandom),
  {
    id: "mailchimp-api-key",
    tier: "prefixed",
    keywords: ["-us"],
    pattern: /(?<=(?=(?<secret>[a-f\d]{32}-us\d{1,2}))[a-f\d]{32})-us\d{1,2}(?![A-Za-z\d])/uy
  },
  prefixed("resend-api-key", "re_", "[A-Za-z\\d]{6,12}_[A-Za-z\\d]{20,30}", endsRandom),
  // Payments and shops
  prefixed(
    "stripe-access-token",
    ["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"],
    "[A-Za-z\\d]{16,200}"
  ),
  prefixed("stripe-webhook-secret", "whsec_", "[A-Za-z\\d+/=]{24,100}"),
  prefixed("shopify-access-token", ["shpat_", "shpca_", "shppa_", "shpss_"], "[a-fA-F\\d]{32}"),
  prefixed("square-access-token", ["sq0atp-", "sq0csp-", "sq0idp-"], "[\\w-]{22,60}"),
  prefixed("square-access-token", "EAAA", "[\\w-]{60}(?![\\w-])", isRandom),
  prefixed("facebook-page-access-token", ["EAAC", "EAAM"], "[A-Za-z\\d]{100,400}", isRandom),
  prefixed(
    "plaid-api-token",
    ["access-sandbox-", "access-development-", "access-production-"],
    "[a-f\\d]{8}-[a-f\\d-]{27}"
  ),
  prefixed("shippo-api-token", ["shippo_live_", "shippo_test_"], "[a-fA-F\\d]{40}"),
  prefixed("flutterwave-secret-key", ["FLWSECK_TEST-", "FLWSECK-"], "[a-zA-Z\\d-]{12,60}"),
  prefixed("easypost-api-token", ["EZAK", "EZTK"], "[A-Za-z\\d]{54}"),
  prefixed("duffel-api-token", ["duffel_test_", "duffel_live_"], "[\\w=-]{43}"),
  // Team tools
  prefixed("figma-pat", ["figd_", "figo_", "figh_"], "[\\w-]{36,60}"),
  prefixed("notion-api-token", "ntn_", "[A-Za-z\\d]{40,60}", endsRandom),
  prefixed("notion-api-token", "secret_", "[A-Za-z\\d]{43}(?![A-Za-z\\d])", endsRandom),
  prefixed("postman-api-token", "PMAK-", "[a-f\\d]{24}-[a-f\\d]{34}"),
  prefixed("hubspot-api-key", ["pat-na1-", "pat-na2-", "pat-eu1-"], "[a-f\\d]{8}-[a-f\\d-]{27}"),
  prefixed("new-relic-user-api-key", ["NRAK-", "NRII-", "NRJS-", "NRRA-"], "[\\w-]{19,60}"),
  prefixed("grafana-service-account-token", "glsa_", "[A-Za-z\\d]{32}_[A-Fa-f\\d]{8}"),
  prefixed("grafana-cloud-api-token", "glc_", "[A-Za-z\\d+/]{32,400}={0,3}"),
  prefixed("grafana-api-key", "eyJrIjoi", "[A-Za-z\\d+/]{60,400}={0,3}"),
  prefixed("contentful-delivery-api-token", "CFPAT-", "[\\w-]{40,80}"),
  prefixed("typeform-api-token", "tfp_", "[\\w.=-]{40,80}"),
  prefixed("posthog-api-key", "phx_", "[A-Za-z\\d]{40,60}"),
  prefixed(
    "launchdarkly-access-token",
    ["sdk-", "api-"],
    "[a-f\\d]{8}-[a-f\\d]{4}-4[a-f\\d]{3}-[89ab][a-f\\d]{3}-[a-f\\d]{12}"
  ),
  prefixed("frameio-api-token", "fio-u-", "[\\w=-]{64}"),
  prefixed("rapidapi-access-token", "rapidapi_", "[A-Za-z\\d]{40,80}"),
  prefixed("octopus-deploy-api-key", "API-", "[A-Z\\d]{26}(?![A-Za-z\\d])", isRandom),
  // Formats of several makers
  {
    id: "jwt",
    tier: "prefixed",
    keywords: ["eyj"],
    pattern: /eyJ[\w-]{14,512}\.eyJ[\w-]{10,8192}\.[\w-]{10,2048}/uy
  },
  {
    id: "jwt",
    tier: "prefixed",
    keywords: ["eyj"],
    // Encrypted JWTs have five parts; the second may be empty.
    pattern: /eyJ[\w-]{14,512}\.[\w-]{0,1024}\.[\w-]{10,64}\.[\w-]{10,8192}\.[\w-]{10,64}/uy
  },
  {
    id: "private-key",
    tier: "prefixed",
    keywords: ["-----begin"],
    pattern: new RegExp(
      `-----BEGIN[ A-Z\\d]{0,40}PRIVATE KEY(?: BLOCK)?-----(?<secret>(?:${LINE_BREAK}(?:Proc-Type|DEK-Info|Version|Comment)[^\\n\\\\]{0,120}){0,4}(?:${LINE_BREAK}[A-Za-z\\d+/=]{1,4096}){1,400})`,
      "uy"
    ),
    anywhere: true,
    block: true,
    accepts: isKeyMaterial
  },
  {
    id: "putty-private-key",
    tier: "prefixed",
    keywords: ["private-lines:"],
    pattern: /Private-Lines: \d{1,4}(?<secret>[A-Za-z\d+/=\s\\]{40,8000})/uy,
    anywhere: true,
    block: true,
    accepts: isKeyMaterial
  },
  {
    id: "wireguard-private-key",
    tier: "prefixed",
    keywords: ["privatekey", "presharedkey"],
    pattern: /(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}(?<secret>[A-Za-z\d+/]{42}[AEIMQUYcgkosw048]=)/uy,
    anywhere: true
  },
  {
    id: "password-hash",
    tier: "prefixed",
    keywords: [
      "$2a$",
      "$2b$",
      "$2y$",
      "$6$",
      "$5$",
      "$y$",
      "$apr1$",
      "$argon2",
      "%242a%24",
      "%242b%24",
      "%242y%24",
      "%25242b%2524"
    ],
    pattern:
      /%(?:25)?242[aby]%(?:25)?24\d\d%(?:25)?24[./%A-Za-z\d]{53,60}|\$(?:2[aby]\$\d\d\$[./A-Za-z\d]{53}|(?:[56]|apr1|y)\$[^\s$:"'\\]{1,40}\$[./A-Za-z\d]{22,86}(?:\$[./A-Za-z\d]{20,90})?|argon2[a-z]{1,2}\$v=\d{1,3}\$[a-z\d=,]{5,40}\$[A-Za-z\d+/]{10,80}\$[A-Za-z\d+/]{20,120})/uy,
    anywhere: true
  }
]
