/**
 * Definitions of the tools that a session's model could call, for the `tools` column.
 *
 * A session of Pi 1.5 declares them; those of 0.78 do not. Without a declaration the tools are those that were called, and
 * the sample says so (`used`). Pi's own definition is taken where a call fits it, else one is inferred from the arguments.
 * A call that failed counts only where none succeeded, and a name that Pi answered with "not found" is no tool.
 */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { BUILTIN_TOOLS } from "./BuiltinTools.ts"
import { type ToolDefinition } from "./ToolDefinition.ts"
import { type Turn } from "./Turn.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"

/**
 * The tools that a request's system messages declare (Pi 1.5); undefined where they do not say. Without a word on tools there
 * were none, unless tools are called all the same: then another program wrote these messages.
 */
export const declaredIn = (
  systemMessages: ReadonlyArray<JsonObject>,
  turns: ReadonlyArray<Turn>
): ReadonlyArray<ToolDefinition> | undefined => {
  if (systemMessages.length === 0) return undefined
  const speaks = systemMessages.some(({ toolsAdded, toolsRemoved }) => isArray(toolsAdded) || isArray(toolsRemoved))
  if (!speaks && turns.some(({ tool_calls }) => tool_calls.length > 0)) return undefined
  return declared(ModelContext.tools(systemMessages))
}

/** The tools that were declared, in their order. */
export const declared = (declarations: ReadonlyArray<JsonObject>): ReadonlyArray<ToolDefinition> => {
  const tools = new Map<string, ToolDefinition>()
  for (const declaration of declarations) {
    const tool = fromDeclaration(declaration)
    if (tool !== undefined) tools.set(tool.name, tool)
  }
  return [...tools.values()]
}

/** The tools that turns call, in the order of first use. */
export const used = (turns: ReadonlyArray<Turn>): ReadonlyArray<ToolDefinition> => {
  const tools: Array<ToolDefinition> = []
  for (const [name, calls] of callsByName(turns)) {
    if (calls.every((call) => call.notFound)) continue
    const succeeded = calls.filter((call) => call.succeeded)
    const given = (succeeded.length > 0 ? succeeded : calls).map((call) => call.arguments)
    const builtin = BUILTIN_TOOLS.get(name)
    const fits = builtin !== undefined && given.some((args) => fitsParameters(args, builtin.parameters))
    tools.push(fits ? builtin : { name, description: "", parameters: inferObject(given) })
  }
  return tools
}

const fromDeclaration = (declaration: JsonObject): ToolDefinition | undefined => {
  const { description, name, parameters } = declaration
  if (typeof name !== "string" || name === "") return undefined
  return {
    name: name.toWellFormed(),
    description: typeof description === "string" ? WellFormed.text(description) : "",
    parameters:
      isObject(parameters) && WellFormed.isShallow(parameters)
        ? WellFormed.object(parameters)
        : { type: "object", properties: {} }
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
