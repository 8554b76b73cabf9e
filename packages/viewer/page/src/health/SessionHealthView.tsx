/** The health of one session: findings of the doctor, and its store. */
import { type JSX } from "preact"
import type * as ViewModel from "../../../src/ViewModel.ts"
import * as ViewQuestion from "../../../src/ViewQuestion.ts"
import { Loaded } from "../answers/Loaded.tsx"
import { Problem } from "../parts/Facts.tsx"
import { Text } from "../parts/Text.tsx"
import { StoreHealth } from "./StoreHealth.tsx"

export const SessionHealthView = ({ sessionKey }: { readonly sessionKey: string }): JSX.Element => (
  <div class="page" tabIndex={0} role="region" aria-label="health">
    <Loaded question={ViewQuestion.health(sessionKey)} what="looking for damage">
      {({ findings, problem, store }) => (
        <>
          <h2>Doctor</h2>
          {problem !== undefined && <Problem text={problem} />}
          {problem === undefined && findings.length === 0 && <p class="good">nothing is wrong with the session</p>}
          {findings.length > 0 && (
            <ul class="findings">
              {findings.map((finding, at) => (
                <Finding key={at} finding={finding} />
              ))}
            </ul>
          )}
          <h2>Store</h2>
          {store === null ? <p class="quiet">a file; the session has no container</p> : <StoreHealth store={store} />}
        </>
      )}
    </Loaded>
  </div>
)

const Finding = ({ finding }: { readonly finding: ViewModel.DoctorFinding }): JSX.Element => (
  <li class={finding.severity}>
    <b>{finding.severity}</b> {finding.code}, line {finding.line}: <Text value={finding.message} />
    <dl>
      <dt>Pi 0.78</dt>
      <dd>
        <Text value={finding.pi078} />
      </dd>
      <dt>Pi 1.5</dt>
      <dd>
        <Text value={finding.pi15} />
      </dd>
      {finding.mend !== null && (
        <>
          <dt>a repair</dt>
          <dd>
            <Text value={finding.mend} />
          </dd>
        </>
      )}
    </dl>
  </li>
)
