import { rowKinds, rowRequests } from '../../activities/rows/row-requests.js';
import { jsonSchemaOf } from '../../api/checks/misspelt-fields.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import { bucketsFor, type RateProfile } from '../../core/limiter/rate.js';
import { estimateContents, type PriceTable } from '../../core/purchase/prices.js';
import { committed, type PeriodSpend, type Spend } from '../../core/purchase/spend.js';
import { isLongRunning, isRowOperation } from '../../core/rows/row-operation.js';
import { jobRecord } from '../../core/rows/row-warehouse.js';
import { schemaChanges, schemaChangesText } from '../../core/rows/schema-changes.js';
import { dollars } from '../../core/text/money.js';
import type { StageManifest } from '../../rows/index.js';
import { schemaOf } from '../../warehouse/index.js';
import { sha256 } from '../config/sha256.js';

/** Slots of a team, and the assumed duration of a run at the service, in seconds. */
const SLOTS = 50;
const RUN_SECONDS = 60;

/** Efforts with a fixed price; all others are billed by usage, up to a budget (API reference: prices). */
const fixed = ['minimal', 'low', 'medium', 'high', 'xhigh'];

/** Sums up the cost and the duration of buying units of a job. */
export type Quote = ReturnType<typeof quote>;

export function quote(staged: StagedJob, prices: PriceTable, rate: RateProfile) {
  const requests = rowRequests({ origin: staged.origin, sha256 }, staged);
  let [sent, micros] = [0, 0];
  let rateCost = { rateClass: 'contents', weight: 1 };
  const addNumber = (units: number) => {
    sent += Math.ceil(units / staged.batch);
    micros += estimateContents(staged.options, units, prices);
  };
  return {
    /** Adds a number of units. Null if the price of a unit depends on its text. */
    addNumber: requests === null ? addNumber : null,
    add(units: readonly string[]): void {
      if (requests === null) {
        addNumber(units.length);
        return;
      }
      sent += Math.ceil(units.length / staged.batch);
      for (const unit of units) micros += requests.listMicros(unit, prices);
      if (units[0] !== undefined) rateCost = requests.rateCost(units[0]);
    },
    total() {
      const qps = Math.min(...bucketsFor(rate, rateCost.rateClass).map((bucket) => bucket.qps));
      const perSecond = qps / Math.max(1, rateCost.weight);
      const running = isLongRunning(staged.operation) && sent > 0 ? Math.ceil(sent / SLOTS) * RUN_SECONDS : 0;
      return {
        requests: sent,
        /** Price by the price table, in micro-dollars. */
        micros,
        /** Whether the price depends on usage, so that `micros` is an upper bound. */
        isMost: isLongRunning(staged.operation) && !fixed.includes(String(staged.options.effort)),
        seconds: Math.max(sent / perSecond, running),
        /** Requests per second that the rate allows. */
        perSecond,
      };
    },
  };
}

const sizeOf = (value: unknown): number =>
  Array.isArray(value) ? value.length : typeof value === 'number' ? value : 0;
const wordsOf = (value: unknown): number =>
  Math.max(0, ...(Array.isArray(value) ? value : []).map((one) => String(one).trim().split(/\s+/).length));

/** The limits that the contract documents for every team. The service may allow a team more. */
const documented = [
  { field: 'numResults', most: 100, of: 'results', count: sizeOf },
  { field: 'includeDomains', most: 1200, of: 'domains', count: sizeOf },
  { field: 'excludeDomains', most: 1200, of: 'domains', count: sizeOf },
  { field: 'includeText', most: 1, of: 'texts', count: sizeOf },
  { field: 'excludeText', most: 1, of: 'texts', count: sizeOf },
  { field: 'includeText', most: 5, of: 'words', count: wordsOf },
  { field: 'excludeText', most: 5, of: 'words', count: wordsOf },
];

const NO_COLUMNS =
  'The output schema is rendered for each row, because it has {{ or {%, so its properties have no columns; the answers have them as JSON.';

/** Notes about a request that passes a documented limit, or has fields that are not known: the service decides about both. */
export function limitNotes({
  operation,
  options,
  template,
}: Pick<StagedJob, 'operation' | 'options' | 'template'>): string[] {
  const request: Readonly<Record<string, unknown>> = { ...options, ...(template as object | undefined) };
  const passed = documented.flatMap(({ field, most, of, count }) => {
    const asked = count(request[field]);
    return asked > most ? [`${field} asks for ${asked} ${of}; the documented limit is ${most}.`] : [];
  });
  const known = isRowOperation(operation)
    ? (jsonSchemaOf(rowKinds[operation].endpoint.request).properties ?? {})
    : request;
  const others = Object.keys(request).filter((field) => !Object.hasOwn(known, field));
  return [
    ...(Object.hasOwn(Object(template), 'outputSchema') ? [NO_COLUMNS] : []),
    ...(passed.length === 0
      ? []
      : [`${passed.join(' ')} If the service refuses the first rows, the job pauses and costs nothing.`]),
    ...(others.length === 0
      ? []
      : [`Fields that this version does not know are sent unchanged: ${others.join(', ')}.`]),
  ];
}

/** Warning that the team's budget is lower than this cost in micro-dollars; null if the budget is enough. */
export async function teamBudgetNote(spend: Spend, micros: number): Promise<string | null> {
  const [{ dayMicros, monthMicros }, { day, month }] = await Promise.all([spend.caps(), spend.spent()]);
  const left = (cap: number | null, spent: PeriodSpend) =>
    cap === null ? Number.POSITIVE_INFINITY : Math.max(0, cap - committed(spent));
  const [today, thisMonth] = [left(dayMicros, day), left(monthMicros, month)];
  const least = Math.min(today, thisMonth);
  if (micros <= least) return null;
  const period = today <= thisMonth ? 'day' : 'month';
  const cap = period === 'day' ? dayMicros : monthMicros;
  return `The job will pause at ${dollars(least)}, the rest of the team's budget of ${dollars(cap ?? 0)} for this ${period}.`;
}

export function schemaNotes(staged: StagedJob, before: JobEntry | null): string[] {
  if (before === null || before.staged.operation !== staged.operation) return [];
  const changes = schemaChanges(schemaOf(jobRecord(before.staged)), schemaOf(jobRecord(staged)));
  return changes.length === 0 ? [] : [`The schema differs from that of the last run: ${schemaChangesText(changes)}.`];
}

export function schemeNotes({ urlCells }: StageManifest): string[] {
  const { withoutScheme = 0 } = urlCells ?? {};
  if (withoutScheme === 0) return [];
  const cells = withoutScheme === 1 ? '1 bad row has a URL' : `${withoutScheme} bad rows have URLs`;
  return [`${cells} without http:// or https://. To include them: --default-scheme https.`];
}

export function headerNotes({ renamed = [] }: StageManifest): string[] {
  if (renamed.length === 0) return [];
  const names = renamed.slice(0, 10).map(({ column, name }) => `column ${column} is ${JSON.stringify(name)}`);
  const more = renamed.length > 10 ? ` and ${renamed.length - 10} more` : '';
  return [`Columns without a name of their own were named: ${names.join(', ')}${more}.`];
}
