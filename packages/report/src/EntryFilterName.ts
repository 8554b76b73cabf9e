/** Names of Pi's filters, in Pi's order. Without Effect, for the viewer's page. */

export const FILTER_NAMES = ["default", "no-tools", "user-only", "labeled-only", "all"] as const
