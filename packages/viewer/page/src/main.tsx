/** Starts the page. A self-contained file has its answers in an element; otherwise the server has them. */
import { render } from "preact"
import { App } from "./App.tsx"
import { fileAnswers } from "./answers/fileAnswers.ts"
import { serverAnswers } from "./answers/serverAnswers.ts"

const page = document.getElementById("page")
const stored = document.getElementById("answers")?.textContent ?? undefined
if (page !== null) render(<App answers={stored === undefined ? serverAnswers : fileAnswers(stored)} />, page)
