/** `pi-sessions validate`: whether a trainer would take a dataset. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { FormatName } from "@pi-sessions/formats/FormatName"

const args = {
  paths: Argument.String("DIR|FILE").pipe(
    Argument.withDescription("A directory that extract wrote, or files of lines"),
    Argument.variadic({ min: 1 })
  ),
  format: Flag.Literals("format", FormatName.literals).pipe(
    Flag.withDescription("The format of files; a directory says its own"),
    Flag.optional
  ),
  model: Flag.String("model").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription(
      "A local model (tokenizer.json, tokenizer_config.json, chat template): render every sample, find its answers again, count tokens"
    ),
    Flag.optional
  ),
  maxTokens: Flag.Int("max-tokens").pipe(
    Flag.withDescription("With --model: count samples of more tokens (default: the model's own limit)"),
    Flag.optional
  ),
  show: Flag.Int("show").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("With --model: print the Nth sample as the model reads it, what is learnt in colour"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))
}

export type Input = Command.Command.Config.Infer<typeof args>

export const validate = Command.make("validate", args, (input) =>
  Effect.flatMap(
    Effect.promise(() => import("./validate/run.ts")),
    (command) => command.run(input)
  )
).pipe(
  Command.withDescription(
    "Read a dataset again and say what its trainer would not take; exit 1 when there is anything"
  ),
  Command.withExamples([
    { command: "pi-sessions validate dataset-deacon", description: "What extract wrote" },
    { command: "pi-sessions validate --format openai train.jsonl", description: "A file from anywhere" },
    {
      command: "pi-sessions validate dataset-deacon --model ~/models/qwen3-8b --show 1",
      description: "What a model is shown of it, in its own tokens, and the loss mask of the first sample"
    }
  ])
)
