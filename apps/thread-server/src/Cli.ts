/** The command line: flags and the token. Stdout gets one line, the server's address. */
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as HttpServer from "effect/http/HttpServer"
import { StartFailed, UsageError } from "./Exit.ts"
import * as ThreadHandlers from "./ThreadHandlers.ts"
import * as ThreadServer from "./ThreadServer.ts"

export const VERSION = "0.1.0"

/** Larger bodies are rejected with status 413. */
const MAX_BODY_BYTES = 64 * 1024 * 1024

const flags = {
  port: Flag.Int("port").pipe(Flag.withDescription("Port to listen on; 0 takes any free one"), Flag.withDefault(8787)),
  host: Flag.String("host").pipe(
    Flag.withDescription("Address to listen on; any but loopback needs ARBE_TOKEN"),
    Flag.withDefault("127.0.0.1")
  ),
  db: Flag.String("db").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("SQLite database of the threads, created with mode 0600 when missing"),
    Flag.withDefault("threads.sqlite")
  )
}

const serve = Command.make(
  "pi-sessions-thread-server",
  flags,
  Effect.fnUntraced(function* ({ port, host, db }) {
    const path = yield* Path.Path
    const setting = yield* Config.option(Config.Redacted("ARBE_TOKEN"))
    const token = Option.filter(
      Option.map(setting, (token) => Redacted.make(Redacted.value(token).trim())),
      (token) => Redacted.value(token) !== ""
    )
    if (port < 0 || port > 65_535)
      return yield* new UsageError({ message: `--port ${port}: a port is a number up to 65535` })
    const unusable = Option.flatMap(token, unusableToken)
    if (Option.isSome(unusable)) return yield* unusable.value
    if (Option.isNone(token)) {
      if (!ThreadHandlers.isLoopback(host)) {
        return yield* new UsageError({
          message: `--host ${host}: without a token only this machine is served. Set ARBE_TOKEN to a secret of your choice`
        })
      }
      yield* Console.error("note: open to every program on this machine; set ARBE_TOKEN to ask for a token")
    }
    // pnpm changes the directory before it runs a script; INIT_CWD is the user's directory.
    const cwd = yield* Config.String("INIT_CWD").pipe(Config.withDefault("."))
    const database = path.resolve(cwd, db)
    const printAddress = Layer.effectDiscard(
      Effect.flatMap(HttpServer.HttpServer, ({ address }) => Console.log(HttpServer.formatAddress(address)))
    )
    yield* Layer.launch(
      Layer.provideMerge(
        printAddress,
        ThreadServer.layer({ host, port, database, token, maxBodyBytes: MAX_BODY_BYTES })
      )
    ).pipe(
      Effect.catchTags({
        SqliteError: (error) => Effect.fail(new StartFailed({ message: error.message })),
        ServeError: ({ cause }) => Effect.fail(new StartFailed({ message: cannotListen(host, port, cause) }))
      })
    )
  })
).pipe(
  Command.withDescription("Keeps arbe threads on this machine and serves them over HTTP (docs/openapi.json)"),
  Command.withExamples([
    { command: "pi-sessions-thread-server", description: "On http://127.0.0.1:8787, in ./threads.sqlite" },
    {
      command:
        "ARBE_TOKEN=$(openssl rand -hex 24) pi-sessions-thread-server --host 0.0.0.0 --db /var/lib/threads.sqlite",
      description: "For other machines, which need the token"
    }
  ])
)

/** In characters; shorter tokens can be guessed. */
const SHORTEST_TOKEN = 16

/** Why a token is rejected. The message does not contain the token. */
const unusableToken = (token: Redacted.Redacted): Option.Option<UsageError> => {
  const text = Redacted.value(token)
  const remedy = "Make one with: openssl rand -hex 24"
  if (!/^[\x21-\x7e]+$/.test(text)) {
    const reason =
      "ARBE_TOKEN holds characters that no request can carry: only printable ASCII without spaces can be sent"
    return Option.some(new UsageError({ message: `${reason}. ${remedy}` }))
  }
  return text.length < SHORTEST_TOKEN
    ? Option.some(
        new UsageError({
          message: `ARBE_TOKEN has ${text.length} characters; it must have at least ${SHORTEST_TOKEN}. ${remedy}`
        })
      )
    : Option.none()
}

const cannotListen = (host: string, port: number, cause: unknown): string => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "unknown reason"
  const remedy =
    code === "EADDRINUSE"
      ? "Another program listens there; choose another --port, or 0 for any free one"
      : "Choose another --host or --port"
  return `cannot listen on ${host} port ${port} (${code}). ${remedy}`
}

/** Wrong usage prints one message and a hint, not the whole help. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
          [...event.errors.map((error) => `error: ${error.message}`), `See ${event.commandPath.join(" ")} --help`].join(
            "\n"
          )
        )
      : CliOutput.defaultPresenter.present(event)
}

const settings = Layer.mergeAll(
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions, GlobalFlag.LogLevel] }),
  Layer.succeed(References.LogToStderr, true)
)

/** Runs one call. Its failure is already printed on stderr and carries the exit code. */
export const run = (args: ReadonlyArray<string>) =>
  Command.runWith(serve, { version: VERSION })(args).pipe(
    Effect.catchTag("ShowHelp", (help) =>
      help.errors.length === 0 ? Effect.void : Effect.fail(new UsageError({ message: "" }))
    ),
    Effect.tapError((error) => (error.message === "" ? Effect.void : Console.error(`error: ${error.message}`))),
    Effect.provide(settings)
  )
