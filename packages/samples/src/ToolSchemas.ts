/**
 * Finds the definitions of the tools that the model of a session could call.
 *
 * Sessions of Pi 1.5 declare them; those of 0.78 do not. Without a declaration, the tools are those that are called
 * (`used`), with Pi's built-in definition if a call fits it, else with one inferred from the arguments. Failed calls count
 * only if none succeeded. A name that Pi answered with "not found" is not a tool.
 */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import * as ModelContext from "@pi-sessions/core/ModelContext"
import { BUILTIN_TOOLS } from "./BuiltinTools.ts"
import { type ToolDefinition } from "./ToolDefinition.ts"
import { type Turn } from "./Turn.ts"
import * as WellFormed from "@pi-sessions/core/WellFormed"

/**
 * The tools that system messages declare (Pi 1.5). System messages that do not mention tools declare none, but if tools
 * are called nevertheless, another program wrote these messages and the result is undefined.
 */
export const declaredIn = (
  systemMessages: ReadonlyArray<JsonObject>,
  turns: ReadonlyArray<Turn>
): ReadonlyArray<ToolDefinition> | undefined => {
  if (systemMessages.length === 0) return undefined
  const mentionsTools = systemMessages.some(
    ({ toolsAdded, toolsRemoved }) => isArray(toolsAdded) || isArray(toolsRemoved)
  )
  if (!mentionsTools && turns.some(({ tool_calls }) => tool_calls.length > 0)) return undefined
  return declared(ModelContext.tools(systemMessages))
}

/** Converts declarations, in order; the last one of each name counts. */
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
  /** Pi had no such tool. */
  readonly notFound: boolean
}

const callsByName = (turns: ReadonlyArray<Turn>): ReadonlyMap<string, ReadonlyArray<ObservedCall>> => {
  const byName = new Map<string, Array<ObservedCall>>()
  turns.forEach((turn, index) => {
    // The results are in the next turn; ids are unique only there.
    const results = new Map(turns[index + 1]?.tool_results.toReversed().map((one) => [one.tool_call_id, one]))
    for (const call of turn.tool_calls) {
      const result = results.get(call.id)
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

/** Whether arguments have all required members and no unknown ones. */
const fitsParameters = (args: JsonObject, parameters: JsonObject): boolean => {
  const { properties, required } = parameters
  const known = isObject(properties) ? properties : {}
  return (
    Object.keys(args).every((key) => Object.hasOwn(known, key)) &&
    (isArray(required) ? required : []).every((key) => typeof key !== "string" || Object.hasOwn(args, key))
  )
}

/** Infers a schema that all objects fit. Keys that every object has are required. */
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
