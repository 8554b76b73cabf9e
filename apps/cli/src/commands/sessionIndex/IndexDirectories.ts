/** The directories whose indexes a command is about. */
import { UsageError } from "../../Exit.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { type Input } from "../sessionIndex.ts"

export const check = ({ sessions }: Input) =>
  FlagCheck.all(FlagCheck.empty({ "--sessions": sessions }, "give a directory"))

/** There is no directory. */
export const none = new UsageError({ text: "there is no directory of sessions; name one with --sessions PATH" })
