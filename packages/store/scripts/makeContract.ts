/** Writes docs/schema/session_store_v2_contract.json from the schemas. `pnpm run contract`. */
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as StoreContract from "../src/wire/StoreContract.ts"

const target = Path.resolve(import.meta.dirname, "../../../docs/schema/session_store_v2_contract.json")
FileSystem.writeFileSync(target, `${JSON.stringify(StoreContract.document(), null, 2)}\n`)
