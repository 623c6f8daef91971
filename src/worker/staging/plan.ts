import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import type { RateProfile } from '../../core/limiter/rate.js';
import { DigestMap } from '../../core/purchase/digest-map.js';
import { isLeftRunning } from '../../core/purchase/failure-tags.js';
import { freshnessOf } from '../../core/purchase/freshness.js';
import type { Journal, Landed } from '../../core/purchase/journal.js';
import { type PriceTable, pricesAt } from '../../core/purchase/prices.js';
import type { Spend } from '../../core/purchase/spend.js';
import type { Freshness } from '../../core/row-job-schemas.js';
import { wantedRows, wantedSlices } from '../../core/rows/job.js';
import { buysPages } from '../../core/rows/row-operation.js';
import type { FailedUnit, RowProgress, RowReads } from '../../core/rows/row-warehouse.js';
import { JobNotLoaded, WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import { canonicalJson } from '../../core/text/json.js';
import { dollars, toMicros } from '../../core/text/money.js';
import { shellWord } from '../../core/text/shell-word.js';
import { readUnits, type StageManifest, sliceFile } from '../../rows/index.js';
import { warehouseFile } from '../../warehouse/index.js';
import { rateProfileOf } from '../config/derived-settings.js';
import { whyNoKey } from '../config/publish-step.js';
import {
  type EnrichRequest,
  type JobPlan,
  type RestPlan,
  type RuntimeConfig,
  UsageError,
} from '../config/runtime-types.js';
import type { Store } from '../store/store.js';
import type { OpenWarehouses } from '../store/warehouses.js';
import { headerNotes, limitNotes, type Quote, quote, schemaNotes, schemeNotes, teamBudgetNote } from './quote.js';
import { type StageContext, stageEnrichment } from './stage-job.js';

interface PlanParts {
  readonly staged: StagedJob;
  readonly manifest: StageManifest;
  readonly asked: EnrichRequest;
  /** The request with the options that it keeps from the job's last run. */
  readonly request: EnrichRequest;
  readonly journal: Journal & Spend;
  readonly warehouse: RowProgress & RowReads;
  readonly before: JobEntry | null;
  readonly rate: RateProfile;
  readonly prices: PriceTable;
  readonly maxCostPerJobMicros?: number | null;
  readonly now: number;
}

/** Reads and stages the input, and returns a preview of a run. */
export async function planJob(
  {
    config,
    store,
    warehouses,
  }: { readonly config: RuntimeConfig; readonly store: Store; readonly warehouses: OpenWarehouses },
  context: StageContext,
  asked: EnrichRequest,
): Promise<JobPlan> {
  const { staged, manifest, before, request: kept } = await stageEnrichment(context, asked);
  const why = asked.publish ? whyNoKey(asked.publish, staged) : null;
  if (why !== null) throw new UsageError('publish-key-invalid', `--publish-key: ${why}.`);
  const now = Date.now();
  const plan = await makePlan({
    ...{ staged, manifest, asked, before, now },
    request: { ...asked, ...kept },
    journal: await store.journal(),
    warehouse: warehouses.of(staged),
    rate: rateProfileOf(config),
    prices: pricesAt(now, config.prices),
    maxCostPerJobMicros: config.maxCostPerJobMicros ?? null,
  });
  const isOnOneMachine = store.shared && warehouseFile(staged.into) !== null;
  return isOnOneMachine ? { ...plan, notes: [...plan.notes, oneMachine] } : plan;
}

const oneMachine =
  'The warehouse is a file, so only workers on this machine can load it. For workers on several machines, use a database (--into postgres://…).';

/** Makes the preview of a run from stage, journal and warehouse (if that can be read). Amounts in micro-dollars. */
export async function makePlan(parts: PlanParts): Promise<JobPlan> {
  const { staged, manifest, request, before, now } = parts;
  const notes = [
    ...keptNotes(parts),
    ...schemaNotes(staged, before),
    ...limitNotes(staged),
    ...keyNotes(staged, before),
    ...schemeNotes(manifest),
    ...headerNotes(manifest),
    ...emptyNotes(staged, before),
    ...(manifest.notes ?? []),
  ];
  const freshness = freshnessOf(request, now);
  const read = await loadedSlices(parts);
  const loaded = read instanceof WarehouseBusy ? null : read;
  if (read instanceof WarehouseBusy) notes.push(`${read.message}. This plan uses the journal alone`);
  const limited = staged.limit !== undefined;
  const wanted = wantedSlices(staged);
  const whole = loaded !== null && loaded.filter((slice) => slice < wanted).length === wanted;
  // The entry only records that a whole job is complete, so a job with a limit is judged by its slices.
  // A store that does not know the job, such as a new one, gets its entry from a run.
  const known = before !== null && (limited || before.completed === staged.generation);
  const complete = whole && known && (freshness === undefined || onlyRebuy(freshness));
  const costs = quote(staged, parts.prices, parts.rate);
  const restCosts = quote(staged, parts.prices, parts.rate);
  const skip: ReadonlySet<number> = whole && (complete || freshness === undefined) ? new Set(loaded) : new Set();
  const count =
    complete && !limited
      ? { ...noUnits, landed: staged.distinctUnits }
      : await countUnits(parts, { costs, restCosts, freshness, skip });
  const waiting = before && before.completed !== staged.generation ? await waitingUnits(parts) : [];
  if (waiting.length > 0) {
    costs.add(waiting.map(({ unit }) => unit as string));
    notes.push(waitingNote(waiting.length));
  }
  notes.push(...optionNotes(staged, before, count));
  if (count.gone > 0) {
    notes.push(
      `${count.gone} answers were bought before, and neither the journal nor the warehouse has them any more. ` +
        'Pass --rebuy to buy them again.',
    );
  }
  if (count.left > 0) notes.push(leftNote(count.left));
  if (count.known > 0) notes.push(knownNote(count, request.rebuy === true));
  const status = complete
    ? 'complete'
    : before === null
      ? 'new'
      : before.staged.generation === staged.generation
        ? 'unfinished'
        : 'changed';
  const { requests, micros: estimateMicros, seconds, perSecond, isMost } = costs.total();
  const allowedMicros = parts.maxCostPerJobMicros ?? null;
  const askedMicros = toMicros(request.maxCostDollars) ?? Number.POSITIVE_INFINITY;
  const mostMicros = Math.min(askedMicros, allowedMicros ?? Number.POSITIVE_INFINITY);
  if (allowedMicros !== null && allowedMicros < Math.min(askedMicros, estimateMicros)) {
    notes.push(
      `The job will pause at ${dollars(allowedMicros)}, the worker's cap for a run (SEARCHFLOW_MAX_COST_PER_JOB).`,
    );
  }
  const team = await teamBudgetNote(parts.journal, Math.min(estimateMicros, mostMicros));
  return {
    staged,
    request,
    status,
    alreadyBought: Math.max(0, count.landed - waiting.length),
    toBuy: count.toBuy + waiting.length,
    requests,
    estimateMicros,
    estimateIsMost: isMost,
    seconds,
    perSecond,
    badRows: manifest.firstBad.filter(({ row }) => row <= wantedRows(staged)),
    limitedBadRows: limited ? count.bad : undefined,
    rest: limited ? restOf(staged, count.restToBuy, restCosts) : null,
    allowedMicros,
    urlCells: manifest.urlCells,
    notes: team === null ? notes : [...notes, team],
  };
}

/** The failed units that an interrupted run marked for its second pass and did not buy. */
async function waitingUnits({ warehouse, staged }: PlanParts): Promise<readonly FailedUnit[]> {
  const units = await unlessUnread(() => warehouse.failedUnits(staged.job, { marked: 'retry' }));
  return units.filter(({ key }) => key !== null);
}

function waitingNote(units: number): string {
  const which =
    units === 1 ? '1 failed unit that an interrupted run was' : `${units} failed units that an interrupted run was`;
  return `This includes ${which} about to buy once more.`;
}

function onlyRebuy(freshness: Freshness): boolean {
  return freshness.freshAfter === undefined && freshness.retryTags === undefined;
}

const loadedSlices = ({ warehouse, staged }: PlanParts): Promise<readonly number[] | null | WarehouseBusy> =>
  warehouse.loadedSlices(staged.job, staged.generation).catch((error: unknown) => {
    if (error instanceof WarehouseBusy) return error;
    throw error;
  });

function restOf(staged: StagedJob, toBuy: number, costs: Quote): RestPlan {
  const { requests, micros } = costs.total();
  return { rows: staged.rows - wantedRows(staged), toBuy, requests, estimateMicros: micros };
}

interface Counting {
  readonly costs: Quote;
  /** Costs of the rows beyond the limit. */
  readonly restCosts: Quote;
  readonly freshness: Freshness | undefined;
  /** Slices that are known to be complete. */
  readonly skip: ReadonlySet<number>;
}

/** Number of units in one query of the warehouse. */
const UNITS_AT_ONCE = 50_000;

/** Counts of distinct units. `landed` units are in the journal; `known` units are only in the warehouse. */
interface UnitCounts {
  readonly toBuy: number;
  readonly landed: number;
  readonly gone: number;
  /** Landed units whose runs are left running at the service. Such a run is followed again without a purchase. */
  readonly left: number;
  /** Units beyond the limit that have not landed. */
  readonly restToBuy: number;
  /** Bad rows within the limit. */
  readonly bad: number;
  readonly known: number;
  readonly knownMicros: number;
}

const noUnits: UnitCounts = { toBuy: 0, landed: 0, gone: 0, left: 0, restToBuy: 0, bad: 0, known: 0, knownMicros: 0 };

async function countUnits(
  { staged, journal, warehouse, request, now }: PlanParts,
  { costs, restCosts, freshness, skip }: Counting,
): Promise<UnitCounts> {
  const asks = await holdsAnswers(warehouse);
  // The rows are not read again if no unit of theirs can be known.
  if (costs.addNumber && staged.limit === undefined && !asks && (await journal.isEmpty())) {
    costs.addNumber(staged.distinctUnits);
    return { ...noUnits, toBuy: staged.distinctUnits };
  }
  const seen = new DigestMap(staged.distinctUnits);
  const sums = { ...noUnits };
  const last = wantedRows(staged);
  let unbought = new Map<string, string>();
  const decide = async () => {
    const known = asks ? await warehouse.known([...unbought.keys()], freshness) : new Map<string, number>();
    // The journal also knows units whose answers are gone. These units are already counted.
    if (request.rebuy) for (const { key } of await journal.lookup([...known.keys()])) known.delete(key);
    for (const [key, micros] of known) {
      sums.known++;
      sums.knownMicros += micros;
      if (!request.rebuy) unbought.delete(key);
    }
    if (!request.rebuy) sums.landed += known.size;
    sums.toBuy += unbought.size;
    costs.add([...unbought.values()]);
    unbought = new Map();
  };
  const leftRunning = async (units: ReadonlyMap<string, string>): Promise<string[]> => {
    if (!freshness?.retryTags) return [];
    const landed = await journal.lookup([...units.keys()]);
    return landed.filter(({ errorTag }) => isLeftRunning(errorTag)).map(({ key }) => key);
  };
  const discarded = freshness?.retryTags ? await discardedKeys(warehouse, staged) : new Set<string>();
  /** Discarded failures, which `--retry-failed` does not buy again. */
  const keptFailures = async (keys: readonly string[]): Promise<readonly Landed[]> => {
    const { retryTags: _tags, retryBefore: _before, ...others } = freshness ?? {};
    const some = discarded.size === 0 ? [] : keys.filter((key) => discarded.has(key));
    return some.length === 0 ? [] : journal.lookup(some, others);
  };
  for (let slice = 0; slice < staged.slices; slice++) {
    const units = new Map<string, string>();
    const rest = new Map<string, string>();
    for (const { n, k, u } of await readUnits(sliceFile(staged.stageDir, slice))) {
      if (k === null && n <= last) sums.bad++;
      if (k !== null && seen.set(k, 0)) (n <= last ? units : rest).set(k, u as string);
    }
    if (rest.size > 0 && !skip.has(slice)) {
      for (const { key } of await journal.lookup([...rest.keys()], freshness)) rest.delete(key);
      for (const key of await leftRunning(rest)) rest.delete(key);
      sums.restToBuy += rest.size;
      restCosts.add([...rest.values()]);
    }
    if (units.size === 0) continue;
    const keys = [...units.keys()];
    const whole = skip.has(slice);
    if (request.rebuy && !whole) await journal.verify(keys);
    const fresh = whole ? [] : await journal.lookup(keys, freshness);
    const found = whole ? [] : [...fresh, ...(await keptFailures(keys))];
    const landed = whole ? keys : [...new Set(found.map(({ key }) => key))];
    if (fresh.length > 0)
      sums.gone += fresh.length - (await journal.lookup(keys, { ...freshness, rebuyBefore: now })).length;
    for (const key of landed) units.delete(key);
    sums.landed += landed.length;
    const left = await leftRunning(units);
    for (const key of left) units.delete(key);
    sums.landed += left.length;
    sums.left += left.length;
    for (const [key, unit] of units) unbought.set(key, unit);
    if (unbought.size >= UNITS_AT_ONCE) await decide();
  }
  await decide();
  return sums;
}

async function discardedKeys(warehouse: RowReads, { job }: StagedJob): Promise<ReadonlySet<string>> {
  const units = await unlessUnread(() => warehouse.failedUnits(job, { marked: 'discarded' }));
  return new Set(units.flatMap(({ key }) => (key === null ? [] : [key])));
}

/** Returns no units if the warehouse does not have the job, or cannot be read now. */
async function unlessUnread(read: () => Promise<readonly FailedUnit[]>): Promise<readonly FailedUnit[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof WarehouseBusy || error instanceof JobNotLoaded) return [];
    throw error;
  }
}

/** The purchase of the unit is open and the run continues: another request for the unit follows the same run. */

function leftNote(left: number): string {
  const runs =
    left === 1
      ? '1 run was left running at the service; it is'
      : `${left} runs were left running at the service; they are`;
  return `${runs} followed again and not bought twice.`;
}

async function holdsAnswers(warehouse: RowProgress): Promise<boolean> {
  try {
    return await warehouse.holdsAnswers();
  } catch (error) {
    // The plan has a note about the busy warehouse.
    if (error instanceof WarehouseBusy) return false;
    throw error;
  }
}

/** Note about answers that the warehouse has and the journal lacks. */
function knownNote({ known, knownMicros }: UnitCounts, rebuy: boolean): string {
  const found =
    `The warehouse has ${known} answers, bought for ${dollars(knownMicros)}, that are not in the journal. The state folder was deleted or ` +
    'is another one, or the store was restored from an older backup';
  return rebuy
    ? `${found}. They are bought again (--rebuy).`
    : `${found}. They are reused and not bought again. To buy them again, pass --rebuy.`;
}

/** Whether a job sends the same requests as in its last run. If so, its runs at the service can be handed over. */
export function keepsRequests(before: Pick<JobEntry, 'staged'> | null, staged: RequestParts): boolean {
  return before !== null && requestText(before.staged) === requestText(staged);
}

type RequestParts = Pick<StagedJob, 'options' | 'template'>;

/** The options and template of a job as a text, for comparison. */
function requestText({ options, template }: RequestParts): string {
  return canonicalJson(template === undefined ? options : { ...options, template });
}

/** Note about options that a request keeps from the job's last run, if they differ from the defaults. */
function keptNotes({ asked, request, staged }: PlanParts): string[] {
  const kept = [
    ...(asked.options === request.options || isDefault(staged) ? [] : [`options ${canonicalJson(request.options)}`]),
    ...(asked.defaultScheme === request.defaultScheme ? [] : [`--default-scheme ${request.defaultScheme}`]),
    ...(asked.key === request.key ? [] : [keyText(request.key)]),
  ];
  return kept.length === 0
    ? []
    : [`Kept from the job's last run: ${kept.join(', ')}. Pass other options to change them.`];
}

const keyText = (key: readonly string[] = []): string =>
  key.length === 0 ? 'no key' : key.map((name) => `--key ${shellWord(name)}`).join(' ');

/** Note about a key that differs from the key of the last run. */
function keyNotes(staged: StagedJob, before: JobEntry | null): string[] {
  if (before === null || canonicalJson(before.staged.key ?? []) === canonicalJson(staged.key ?? [])) return [];
  const change = `The key differs from that of the last run (${keyText(before.staged.key)} then, ${keyText(staged.key)} now)`;
  return staged.rowsPerRun
    ? [`${change}, so every row is bought again: rows that share a run are sent with their keys.`]
    : [`${change}. In this run, only rows with unchanged cells are the same rows as before.`];
}

function isDefault({ operation, options }: StagedJob): boolean {
  return buysPages(operation) ? canonicalJson(options) === '{"text":true}' : Object.keys(options).length === 0;
}

function emptyNotes({ rows }: StagedJob, before: JobEntry | null): string[] {
  if (rows > 0) return [];
  const { rows: gone = 0 } = before?.staged ?? {};
  if (gone === 0) return ['The input has no rows.'];
  const lost = gone === 1 ? 'the 1 row of the last run is' : `all ${gone} rows of the last run are`;
  return [`The input has no rows: ${lost} marked as vanished, and kept.`];
}

/** Note about options that differ from those of the last run. The answers to earlier options stay, so a return to them may be free. */
function optionNotes(staged: StagedJob, before: JobEntry | null, { toBuy, landed }: UnitCounts): string[] {
  if (before === null || keepsRequests(before, staged)) return [];
  const [was, is] = [requestText(before.staged), requestText(staged)];
  const change = `The options differ from those of the last run (${was} then, ${is} now)`;
  if (toBuy === 0) return [`${change}. No row needs a new answer.`];
  return landed === 0
    ? [`${change}, so every row is bought again.`]
    : [`${change}. Only rows without an answer to these options are bought.`];
}
