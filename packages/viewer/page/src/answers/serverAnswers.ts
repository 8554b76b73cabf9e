/** Answers of the server that served the page. */
import { type Answers } from "./Answers.ts"

const errorOf = async (response: Response): Promise<string> => {
  const text = await response.text()
  try {
    const body: { readonly message?: unknown } = JSON.parse(text)
    if (typeof body.message === "string") return body.message
  } catch {
    // Refusals of the server are plain text.
  }
  return text.trim() === "" ? `the server answered ${response.status}` : text.trim()
}

const request = async (address: string, options: RequestInit = {}) => {
  const response = await fetch(`api/${address}`, { ...options, cache: "no-store", credentials: "omit" }).catch(
    () => undefined
  )
  if (response === undefined) throw new Error("the server has ended; start pi-sessions view again")
  if (!response.ok) throw new Error(await errorOf(response))
  return response.json()
}

export const serverAnswers: Answers = {
  get: async ({ address }) => request(address),
  mark: async (mark) =>
    request("marks", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(mark)
    })
}
