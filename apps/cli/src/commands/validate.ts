/** `pi-sessions validate`: whether a trainer would accept a dataset. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { FormatName } from "@pi-sessions/formats/FormatName"
import * as FlagKinds from "../flags/FlagKinds.ts"
import * as OutputFlags from "../flags/OutputFlags.ts"
import * as SampleFlags from "../flags/SampleFlags.ts"
import { lazily } from "../lazily.ts"

const flags = {
  paths: Argument.String("DIR|FILE").pipe(
    Argument.withDescription("A directory that extract wrote, or dataset files"),
    Argument.variadic({ min: 1 })
  ),
  format: Flag.Literals("format", FormatName.literals).pipe(
    Flag.withDescription("Format of files; a directory names its own"),
    Flag.optional
  ),
  model: FlagKinds.text(
    "model",
    "DIR",
    "Directory of a local model (tokenizer.json, tokenizer_config.json, chat template): render every sample, find its answers in the text, count tokens"
  ),
  maxTokens: SampleFlags.maxTokens("With --model: count samples with more tokens. Default: the model's own limit."),
  show: FlagKinds.int("show", "N", "With --model: print the Nth sample as the model reads it; learnt text is coloured"),
  json: OutputFlags.json()
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const validate = Command.make(
  "validate",
  flags,
  lazily(() => import("./validate/run.ts"))
).pipe(
  Command.withDescription("Read a dataset and print what its trainer would refuse; exit 1 if there is anything"),
  Command.withExamples([
    { command: "pi-sessions validate dataset-deacon", description: "A dataset that extract wrote" },
    { command: "pi-sessions validate --format openai train.jsonl", description: "A file from anywhere" },
    {
      command: "pi-sessions validate dataset-deacon --model ~/models/qwen3-8b --show 1",
      description: "What a model reads, in its own tokens, and the loss mask of the first sample"
    }
  ])
)
