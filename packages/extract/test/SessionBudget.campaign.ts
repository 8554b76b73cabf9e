/** Budgets with more limits in each format, and larger hostile sessions. */
import "./SessionBudget.test.ts"
