import { render } from "preact"
import * as Answers from "./answers/Answers.ts"
import { App } from "./App.tsx"

const page = document.getElementById("page")
if (page !== null) render(<App answers={Answers.find()} />, page)
