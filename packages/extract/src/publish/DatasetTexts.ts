/** The texts that describe a dataset: card, manifest, report and splits. */
import { type ExtractOptions } from "../ExtractOptions.ts"
import { type ExtractReport } from "../ExtractReport.ts"
import { type ExtractSettings } from "../ExtractSettings.ts"
import * as RecordedSplits from "../files/RecordedSplits.ts"
import { type DatasetPlan } from "../plan/DatasetPlan.ts"
import * as DatasetCard from "./DatasetCard.ts"
import * as DatasetManifest from "./DatasetManifest.ts"
import { REPORT_FILE, type Text } from "./Publication.ts"
import * as PublicReport from "./PublicReport.ts"

/** In the order in which they are published. The report is last: it marks a complete dataset. */
export const of = (
  report: ExtractReport,
  { recorded }: DatasetPlan,
  options: ExtractOptions,
  { redactor, work }: ExtractSettings
): ReadonlyArray<Text> => {
  const shown = redactor === undefined ? report : PublicReport.of(report, redactor)
  const manifest = DatasetManifest.make(options, shown, {
    model: work.model?.fingerprint,
    shown: redactor === undefined ? undefined : (text) => redactor.scope([]).text(text)
  })
  return [
    RecordedSplits.textOf(recorded),
    { name: DatasetManifest.MANIFEST_FILE, text: manifest },
    { name: DatasetCard.CARD_FILE, text: DatasetCard.make(report), mark: DatasetCard.MARK },
    { name: REPORT_FILE, text: `${JSON.stringify(shown, undefined, 2)}\n` }
  ]
}
