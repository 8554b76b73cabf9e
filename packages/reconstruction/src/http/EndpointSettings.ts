/** Address, token and limits of a thread server, from options or the environment. */
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type EndpointError, refused } from "./EndpointError.ts"

export interface EndpointOptions {
  /** Address of the server, `https://host/path`. Default: `ARBE_URL`. */
  readonly url?: string | undefined
  /** Bearer token. Default: `ARBE_TOKEN`; requests carry no token when that is not set. */
  readonly token?: Redacted.Redacted | undefined
  /** How long the server may be silent, before and within an answer. Default: 1 minute. */
  readonly timeout?: Duration.Input | undefined
  /** Attempts after a failed one whose error is retryable. Default: 5. */
  readonly retries?: number | undefined
  /** The first pause between attempts; each next one is twice as long, plus or minus a fifth, up to 15 s. Default: 250 ms. */
  readonly backoff?: Duration.Input | undefined
  /** Largest answer in bytes. Default: 512 MiB. */
  readonly maxAnswerBytes?: number | undefined
}

export interface EndpointSettings {
  readonly base: URL
  readonly token: Option.Option<Redacted.Redacted>
  readonly timeout: Duration.Input
  readonly retries: number
  readonly backoff: Duration.Input
  readonly maxAnswerBytes: number
}

/** The settings with defaults. Fails when there is no address, or address or token is invalid. */
export const load = Effect.fnUntraced(function* (
  options: EndpointOptions
): Effect.fn.Return<EndpointSettings, EndpointError> {
  const url = options.url ?? (yield* variable(Config.String("ARBE_URL"), (value) => value))
  const token = options.token ?? (yield* variable(Config.Redacted("ARBE_TOKEN"), Redacted.value))
  return {
    base: yield* baseUrl(url),
    token: yield* validToken(token),
    timeout: options.timeout ?? Duration.minutes(1),
    retries: options.retries ?? 5,
    backoff: options.backoff ?? Duration.millis(250),
    maxAnswerBytes: options.maxAnswerBytes ?? 512 * 1024 * 1024
  }
})

/** A variable of the environment; undefined when it is not set or empty. */
const variable = <A>(config: Config.Config<A>, text: (value: A) => string) =>
  Config.option(config).pipe(
    Effect.map(Option.filter((value) => text(value).trim() !== "")),
    Effect.map(Option.getOrUndefined),
    Effect.mapError(() => refused("the settings ARBE_URL and ARBE_TOKEN cannot be read", "Set them in the environment"))
  )

const baseUrl = (setting: string | undefined): Effect.Effect<URL, EndpointError> => {
  if (setting === undefined) {
    return Effect.fail(
      refused("ARBE_URL is not set", "Set it to where threads are served, such as http://127.0.0.1:8787")
    )
  }
  const url = URL.parse(setting.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return Effect.fail(refused("ARBE_URL is no http or https address", "Set it to one, such as http://127.0.0.1:8787"))
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return Effect.fail(
      refused("ARBE_URL holds more than a host and a path", "Leave out user, password and query, and set ARBE_TOKEN")
    )
  }
  return Effect.succeed(url)
}

const validToken = (setting: Redacted.Redacted | undefined) => {
  if (setting === undefined) return Effect.succeedNone
  const token = Redacted.value(setting).trim()
  return /^[\x21-\x7e]+$/.test(token)
    ? Effect.succeedSome(Redacted.make(token))
    : Effect.fail(refused("ARBE_TOKEN holds characters that no token may hold", "Set it to the token alone"))
}
