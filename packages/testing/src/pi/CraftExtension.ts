/**
 * A test extension for the real Pi, to be loaded by its path: `/craft JSON` does what only an extension can.
 */

/** What `/craft` takes. */
interface Craft {
  readonly label?: string
  readonly name?: string
  readonly entry?: unknown
  readonly message?: string
  /** Back to the first entry of the branch whose text holds this. */
  readonly tree?: string
  readonly summarize?: boolean
}

interface CraftContext {
  readonly sessionManager: {
    getLeafId(): string | null
    getBranch(): ReadonlyArray<{ readonly id: string }>
  }
  navigateTree(targetId: string, options: { summarize: boolean }): Promise<unknown>
}

interface CraftApi {
  registerCommand(
    name: string,
    command: { description: string; handler: (args: string, context: CraftContext) => Promise<void> }
  ): void
  setLabel(id: string, label: string): void
  setSessionName(name: string): void
  appendEntry(type: string, data: unknown): void
  sendMessage(message: { customType: string; content: string; display: boolean }): void
}

export default (pi: CraftApi): void => {
  pi.registerCommand("craft", {
    description: "does what only an extension can",
    handler: async (args, context) => {
      const { label, name, entry, message, tree, summarize }: Craft = JSON.parse(args)
      if (label !== undefined) pi.setLabel(context.sessionManager.getLeafId() ?? "", label)
      if (name !== undefined) pi.setSessionName(name)
      if (entry !== undefined) pi.appendEntry("craft", entry)
      if (message !== undefined) pi.sendMessage({ customType: "craft", content: message, display: true })
      if (tree !== undefined) {
        const target = context.sessionManager.getBranch().find((entry) => JSON.stringify(entry).includes(tree))
        await context.navigateTree(target?.id ?? "", { summarize: summarize ?? false })
      }
    }
  })
}
