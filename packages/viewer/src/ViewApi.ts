/** The HTTP API of the page, below the server's token. Only `mark` writes. The page's side: ViewQuestion.ts. */
import * as Schema from "effect/Schema"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import { EntryFilter } from "@pi-sessions/report/EntryFilter"
import * as ViewModel from "./ViewModel.ts"
import { ViewFailed, ViewMalformed, ViewNotFound } from "./ViewError.ts"

/** Answers a request that does not fit the API with `ViewMalformed`. */
export class RequestCheck extends HttpApiMiddleware.Service<RequestCheck>()(
  "@pi-sessions/viewer/ViewApi/RequestCheck",
  { error: ViewMalformed }
) {}

/** A natural number in a URL. */
const Count = Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 1e9 }))
const Key = Schema.String.check(Schema.isPattern(/^[\da-f]{16}$/u))
/** See EntryRanges.toText. */
const RangesText = Schema.String.check(Schema.isPattern(/^\d{1,9}-\d{1,4}(?:,\d{1,9}-\d{1,4}){0,499}$/u))
const Flag = Schema.optionalKey(Schema.Literal("1"))

const errors = [ViewNotFound, ViewFailed]
const session = { key: Key }

const Views = HttpApiGroup.make("views", { topLevel: true })
  .add(
    HttpApiEndpoint.get("home", "/api/home", { success: ViewModel.Home }),
    HttpApiEndpoint.get("sessions", "/api/sessions", { success: ViewModel.SessionRows }),
    HttpApiEndpoint.get("summaries", "/api/summaries", {
      query: { keys: Schema.String.check(Schema.isPattern(/^[\da-f]{16}(?:,[\da-f]{16}){0,499}$/u)) },
      success: ViewModel.SessionSummaries
    }),
    HttpApiEndpoint.get("session", "/api/sessions/:key", {
      params: session,
      success: ViewModel.SessionPage,
      error: errors
    }),
    HttpApiEndpoint.get("branch", "/api/sessions/:key/branch", {
      params: session,
      query: { leaf: Count, filter: EntryFilter },
      success: ViewModel.Ranges,
      error: errors
    }),
    HttpApiEndpoint.get("entries", "/api/sessions/:key/entries", {
      params: session,
      query: { at: RangesText, whole: Flag },
      success: ViewModel.EntryRows,
      error: errors
    }),
    HttpApiEndpoint.get("tree", "/api/sessions/:key/tree", {
      params: session,
      query: { filter: EntryFilter, all: Flag, from: Count, count: Count },
      success: ViewModel.TreePage,
      error: errors
    }),
    HttpApiEndpoint.get("picture", "/api/sessions/:key/picture", {
      params: session,
      query: { entry: Count, picture: Count },
      success: ViewModel.Picture,
      error: errors
    }),
    HttpApiEndpoint.get("find", "/api/sessions/:key/find", {
      params: session,
      query: { id: Schema.String },
      success: Schema.Int,
      error: errors
    }),
    HttpApiEndpoint.get("end", "/api/sessions/:key/end", {
      params: session,
      query: { entry: Count, leaf: Count },
      success: Schema.Int,
      error: errors
    }),
    HttpApiEndpoint.get("samples", "/api/sessions/:key/samples", {
      params: session,
      success: ViewModel.SamplesPage,
      error: errors
    }),
    HttpApiEndpoint.get("health", "/api/sessions/:key/health", {
      params: session,
      success: ViewModel.SessionHealth,
      error: errors
    }),
    HttpApiEndpoint.get("search", "/api/search", {
      query: { text: Schema.NonEmptyString, key: Schema.optionalKey(Key) },
      success: ViewModel.Hits,
      error: errors
    }),
    HttpApiEndpoint.get("dataset", "/api/dataset", { success: ViewModel.DatasetPage, error: errors }),
    HttpApiEndpoint.get("lines", "/api/dataset/lines", {
      query: { file: Schema.String, from: Count, count: Count },
      success: ViewModel.SampleLines,
      error: errors
    }),
    HttpApiEndpoint.get("marks", "/api/marks", { success: ViewModel.Marks, error: errors }),
    HttpApiEndpoint.post("mark", "/api/marks", {
      payload: ViewModel.MarkRequest,
      success: ViewModel.Marks,
      error: errors
    })
  )
  .middleware(RequestCheck)

export const ViewApi = HttpApi.make("views").add(Views)
