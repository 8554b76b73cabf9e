/**
 * Definitions of the tools that a session's model could call, for the `tools` column.
 *
 * A session of Pi 1.5 declares them; those of 0.78 do not. For a name that no declaration covers, Pi's own definition is
 * taken where a call fits it, and else one inferred from the arguments that were given. What was merely attempted says
 * nothing: a call that failed counts only where none succeeded, and a name that Pi answered with "not found" is no tool.
 */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { BUILTIN_TOOLS } from "./BuiltinTools.ts"
import { type ToolDefinition, type ToolsSource } from "./ToolDefinition.ts"
import { type Turn } from "./Turn.ts"
import * as WellFormed from "./WellFormed.ts"

export interface Tools {
  /** Declared ones in their order, then others in the order of first use. */
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly source: ToolsSource
}

/** The tools of a session: those it declares (`ModelContext.tools`) and those its turns call. */
export const resolve = (declared: ReadonlyArray<JsonObject>, turns: ReadonlyArray<Turn>): Tools => {
  const tools = new Map<string, ToolDefinition>()
  const sources = new Set<ToolsSource>()
  for (const declaration of declared) {
    const tool = fromDeclaration(declaration)
    if (tool === undefined) continue
    tools.set(tool.name, tool)
    sources.add("session")
  }
  for (const [name, calls] of callsByName(turns)) {
    if (tools.has(name) || calls.every((call) => call.notFound)) continue
    const succeeded = calls.filter((call) => call.succeeded)
    const given = (succeeded.length > 0 ? succeeded : calls).map((call) => call.arguments)
    const builtin = BUILTIN_TOOLS.get(name)
    const fits = builtin !== undefined && given.some((args) => fitsParameters(args, builtin.parameters))
    tools.set(name, fits ? builtin : { name, description: "", parameters: inferObject(given) })
    sources.add(fits ? "builtin" : "inferred")
  }
  const [source = "none"] = sources
  return { tools: [...tools.values()], source: sources.size > 1 ? "mixed" : source }
}

const fromDeclaration = (declaration: JsonObject): ToolDefinition | undefined => {
  const { description, name, parameters } = WellFormed.object(declaration)
  if (typeof name !== "string" || name === "") return undefined
  return {
    name,
    description: typeof description === "string" ? description : "",
    parameters: isObject(parameters) ? WellFormed.object(parameters) : { type: "object", properties: {} }
  }
}

interface ObservedCall {
  readonly arguments: WellFormed.PlainObject
  readonly succeeded: boolean
  /** Pi knew no such tool. */
  readonly notFound: boolean
}

const callsByName = (turns: ReadonlyArray<Turn>): ReadonlyMap<string, ReadonlyArray<ObservedCall>> => {
  const byName = new Map<string, Array<ObservedCall>>()
  turns.forEach((turn, index) => {
    // The results of a turn's calls are the next turn; ids need not be unique beyond that.
    const results = turns[index + 1]?.tool_results ?? []
    for (const call of turn.tool_calls) {
      const result = results.find(({ tool_call_id }) => tool_call_id === call.id)
      const observed = {
        arguments: call.arguments,
        succeeded: result?.is_error === false,
        notFound: result?.is_error === true && result.content === `Tool ${call.name} not found`
      }
      const calls = byName.get(call.name)
      if (calls === undefined) byName.set(call.name, [observed])
      else calls.push(observed)
    }
  })
  return byName
}

/** Whether arguments give all that is required and nothing that is not known. */
const fitsParameters = (args: JsonObject, parameters: JsonObject): boolean => {
  const { properties, required } = parameters
  const known = isObject(properties) ? properties : {}
  return (
    Object.keys(args).every((key) => Object.hasOwn(known, key)) &&
    (isArray(required) ? required : []).every((key) => typeof key !== "string" || Object.hasOwn(args, key))
  )
}

/** The schema that all the objects fit: every key seen, those always there required. */
const inferObject = (objects: ReadonlyArray<JsonObject>): WellFormed.PlainObject => {
  const values = new Map<string, Array<Json>>()
  for (const object of objects) {
    for (const [key, value] of Object.entries(object)) {
      if (value === undefined) continue
      const seen = values.get(key)
      if (seen === undefined) values.set(key, [value])
      else seen.push(value)
    }
  }
  const required = [...values].filter(([, seen]) => seen.length === objects.length).map(([key]) => key)
  return {
    type: "object",
    properties: Object.fromEntries([...values].map(([key, seen]) => [key, inferValue(seen)])),
    ...(required.length === 0 ? {} : { required })
  }
}

const inferValue = (values: ReadonlyArray<Json>): WellFormed.PlainObject => {
  const types = [...new Set(values.map(typeOf))]
  const [only, ...others] = types.includes("number") ? types.filter((type) => type !== "integer") : types
  if (others.length > 0 || only === undefined) return only === undefined ? {} : { type: [only, ...others] }
  if (only === "object") return inferObject(values.filter(isObject))
  if (only === "array") return { type: only, items: inferValue(values.filter(isArray).flat()) }
  return { type: only }
}

const typeOf = (value: Json): string => {
  if (value === null) return "null"
  if (isArray(value)) return "array"
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value
}
