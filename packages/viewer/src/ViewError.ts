/** Errors that the viewer answers with. Their messages are redacted. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The viewer has no such session, entry, picture, file or dataset. */
export class ViewNotFound extends Schema.TaggedError<ViewNotFound>()(
  "ViewNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}

/** It exists, and reading or writing it failed. */
export class ViewFailed extends Schema.TaggedError<ViewFailed>()(
  "ViewFailed",
  { message: Schema.String },
  { httpApiStatus: 422 }
) {}

/** The request does not fit the API. */
export class ViewMalformed extends Schema.TaggedError<ViewMalformed>()(
  "ViewMalformed",
  { message: Schema.String },
  { httpApiStatus: 400 }
) {}

/** The value, or `ViewNotFound` for undefined. */
export const orNotFound = <A>(found: A | undefined, message: string): Effect.Effect<A, ViewNotFound> =>
  found === undefined ? Effect.fail(new ViewNotFound({ message })) : Effect.succeed(found)
