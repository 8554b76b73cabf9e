import { Effect } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { spawn, spawnSync } from "node:child_process"
import { make, sessionIdOf } from "./support/place.ts"
Effect.runPromise(Effect.scoped(Effect.gen(function*(){
  const place = yield* make()
  const srv = spawn(process.execPath, ["../thread-server/dist/main.js","--port","18799","--db",place.pi.root+"/t.sqlite"], {stdio:"inherit", env:{...process.env, ARBE_TOKEN:"tok"}})
  yield* Effect.sleep(1500)
  const env = {PI_MIRROR_DIR:"", ARBE_URL:"http://127.0.0.1:18799", ARBE_TOKEN:"tok"}
  for (const v of ["0.78","1.5"] as const) {
    const file = Path.join(place.pi.sessionDir, v+".jsonl")
    for (const run of ["a","b"]) {
      const p = yield* place.start(v, { args: ["--session", file], env, state: run })
      yield* p.prompt("please write "+run)
      console.log(yield* p.stop, yield* p.stderr)
    }
    const out = place.pi.root+"/h"+v+".jsonl"
    const r = spawnSync(process.execPath, ["../cli/dist/main.js","hydrate","--help"], {encoding:"utf8"})
    if (v==="0.78") console.log(r.stdout.slice(0,900))
    const res = yield* Effect.promise(()=>fetch("http://127.0.0.1:18799/threads/th_mirror/entries?limit=1000",{headers:{authorization:"Bearer tok"}}).then(r=>r.json() as Promise<any>))
    const lines = res.entries.filter((e:any)=>e.type.startsWith("pi.session")&&e.payload.sessionId===sessionIdOf(file)).map((e:any)=>e.payload.line)
    console.log(v, lines.join("\n")+"\n"===FileSystem.readFileSync(file,"utf8"), res.entries.length, out.length)
  }
  srv.kill()
})))
