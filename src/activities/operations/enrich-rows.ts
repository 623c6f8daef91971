import { ApplicationFailure, Context } from '@temporalio/activity';
import { fieldOf } from '../../api/checks/field-of.js';
import { jsonSchemaOf, misspeltFields } from '../../api/checks/misspelt-fields.js';
import { operationTable } from '../../api/operations.js';
import { ApiError } from '../../api/wire/errors.js';
import { schemaProblems } from '../../core/check-value.js';
import { DEFAULT_OPERATION, URLS_PER_REQUEST } from '../../core/choices.js';
import { type RowError, type RowResult, type RowsHow, rowsHow } from '../../core/enrich-rows-schemas.js';
import { UsageError } from '../../core/errors/coded-error.js';
import { ruleOf, transientTags } from '../../core/purchase/failure-tags.js';
import { retryRuleOf } from '../../core/purchase/freshness.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { estimateContents } from '../../core/purchase/prices.js';
import { sendOptions, sentWith } from '../../core/purchase/sent-with.js';
import type { Freshness } from '../../core/row-job-schemas.js';
import type { RowsBought, RowsPiece, RowsPlan, SomeRows } from '../../core/rows/enrich-rows.js';
import { buysPages } from '../../core/rows/row-operation.js';
import type { OverBudgetFacts } from '../../core/rows/stop-at-failed.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import { dollars, priceMicros, toDollars } from '../../core/text/money.js';
import { bindUnits } from '../../rows/unit-source.js';
import type { CallDeps } from '../base/deps.js';
import { toFailure } from '../call/failure.js';
import type { AnyPurchase, PurchaseRequest, Unit } from '../purchase/purchase-request.js';
import { type ContentsOptions, contentsPurchase } from '../rows/contents-purchase.js';
import { type RowRequestFacts, requestPurchase, rowKinds, rowRequests } from '../rows/row-requests.js';
import { stageOperation } from '../rows/stage-operation.js';
import { buyNow, lonePurchase, type Paid, payerOf, refuseTooLarge, shares } from './buy.js';

const ASK_FOR_LESS = 'It was paid. Ask for less (text.maxCharacters, numResults)';
/** Characters of a row's key: with a million rows, two keys are equal in one of 10^12 calls. */
const KEY_LENGTH = 20;

export const createEnrichRows = (deps: CallDeps) => ({
  /** Checks the request and the rows; returns what is known of them. Buys nothing. */
  async planEnrichRows(some: SomeRows): Promise<RowsPlan> {
    try {
      const problems = schemaProblems('enrichRows', some.how, jsonSchemaOf(rowsHow));
      if (problems.length > 0) throw new UsageError('request-invalid', problems.join(' '));
      const { facts, units, urlField } = await read(deps, some);
      refuseTooLarge(deps, { urls: [0], ...facts.options, ...some.how.template, ...some.how.options }, {});
      const prices = deps.prices();
      const requests = rowRequests(deps, facts);
      const estimate = ({ unit }: Unit) =>
        requests?.estimateMicros(unit, prices) ?? estimateContents(facts.options as ContentsOptions, 1, prices);
      return {
        record: !deps.alone,
        units: units.map((unit) => ('tag' in unit ? unit : unit.key.slice(0, KEY_LENGTH))),
        mostMicros: Math.max(0, ...units.map((unit) => ('tag' in unit ? 0 : estimate(unit)))),
        urlField,
      };
    } catch (error) {
      throw toFailure(error);
    }
  },

  /** Buys the answers of rows. On a worker without a record: with one request. */
  async buyEnrichRows({ call, maxBytes, since, isPaid, ...some }: RowsPiece): Promise<RowsBought> {
    const { facts, units } = await read(deps, some).catch((error: unknown) => {
      throw toFailure(error);
    });
    const byKey = new Map(units.flatMap((unit) => ('tag' in unit ? [] : [[unit.key, unit]])));
    const spares = deps.spares?.find(byKey.keys(), since) ?? [];
    for (const { key } of spares) byKey.delete(key);
    if (isPaid) byKey.clear();
    const purchaseRequest = purchaseOf(deps, facts, {
      ...lonePurchase(),
      ...{ units: [...byKey.values()], maxRebuys: some.how.maxRebuys, recordsAll: true },
      freshness: freshnessOf(some.how, since),
      ...ofCall(call, some, since),
    });
    const { records: own, requests, unknownOutcomes, stopped } = await buyAll(deps, purchaseRequest, some.how);
    const records = new Map([...own, ...spares].map((record) => [record.key, record]));
    const all = units.map((unit, nth) => resultOf(some.indexes[nth] as number, unit, records, requests));
    const missing = isPaid ? all.findIndex(({ error }) => error?.tag === NOT_BOUGHT) : -1;
    const results = missing < 0 ? all : all.slice(0, missing);
    const sizes = results.map((result) => Buffer.byteLength(JSON.stringify(result)) + 1);
    const fit = firstThatFit(results, sizes, maxBytes, deps.alone ? [] : units);
    for (const { key } of spares) deps.spares?.use(key, since);
    for (const [nth, unit] of units.entries())
      if (nth >= fit.length && 'key' in unit) deps.spares?.add(records.get(unit.key), since, sizes[nth] ?? 0);
    const { tags } = retryRuleOf(false);
    const isFree = ({ error, costDollars }: RowResult) =>
      buysPages(facts.operation) && costDollars === 0 && tags.includes(error?.tag ?? '');
    const reasoned = (result: RowResult) =>
      stopped && result.error?.tag === NOT_BOUGHT ? { ...result, error: stopped } : result;
    return {
      results: fit.map(reasoned),
      bytes: sizes.reduce((sum, size) => sum + size, 0),
      costs: results.slice(fit.length).map(({ costDollars }) => costDollars),
      again: stopped ? [] : fit.filter(isFree).map(({ index }) => index),
      unknownOutcomes,
      stopped,
    };
  },
});

/** The error of a unit without a record. */
const NOT_BOUGHT = 'NOT_BOUGHT';

interface ReadRows {
  readonly facts: RowRequestFacts;
  readonly units: readonly (Unit | RowError)[];
  readonly urlField: string | null;
}

/** Makes the units of rows. Throws `UsageError` or `CsvError` for a request that is wrong for all rows. */
async function read(deps: CallDeps, { how, rows, indexes }: SomeRows): Promise<ReadRows> {
  if (how.columns === null) return readRequests(deps, { how, rows, indexes });
  const { columns, operation, template, options = {}, urlField = null } = how;
  const request = { operation, template, options, urlColumn: urlField, batch: URLS_PER_REQUEST, ...sentWith(how) };
  const stage = stageOperation({ ...deps, concurrency: 1 }, request);
  const records = rows.map((row, nth) => ({
    line: (indexes[nth] as number) + 1,
    place: { word: 'row' as const },
    cells: columns.map((name) => cellOf(row[name])),
    problem: null,
  }));
  const cells = records.map((record) => record.cells);
  const { unitOf, unitColumn } = await bindUnits(stage.units, columns, cells);
  const units = records.map((record) => {
    const { unit, problem } = unitOf(record, '');
    return problem ?? { key: stage.keyOf(unit as string), unit: unit as string };
  });
  return { facts: stage.facts, units, urlField: unitColumn };
}

/** Rows that are whole requests. */
function readRequests(deps: CallDeps, { how, rows, indexes }: SomeRows): ReadRows {
  const { operation = DEFAULT_OPERATION, options = {} } = how;
  const facts = { operation, options, ...sentWith(how) };
  const requests = rowRequests(deps, facts);
  if (requests === null || how.template || how.urlField !== undefined)
    throw new UsageError(
      'request-invalid',
      'requests are for search and answer, without template and urlField. Give the URLs of contents as rows.',
    );
  const isMisspelt = (row: object) =>
    misspeltFields(rowKinds[operation].endpoint, { ...options, ...row }, Object.values(operationTable)).length > 0;
  const units = rows.map((row, nth): Unit | RowError => {
    const unit = canonicalJson(row);
    try {
      requests.check(deps.transport, unit);
      return { key: requests.keyOf(unit), unit };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // The first call with these rows reads all of them before it buys one.
      if (how.startedAt === undefined && isMisspelt(row))
        throw new UsageError('request-invalid', `requests[${indexes[nth]}]: ${error.message}`);
      return { tag: 'INVALID_REQUEST', message: error.message };
    }
  });
  return { facts, units, urlField: null };
}

/** The value of a field as the text of a cell; null without one. */
function cellOf(value: Json | undefined): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'object' ? canonicalJson(value) : String(value);
}

/** A call uses the answers in the record, except failures of earlier calls that may pass, and answers that are too old. */
const freshnessOf = ({ refreshAfterMs }: RowsHow, since: number): Freshness => ({
  ...{ retryTags: transientTags, retryBefore: since },
  freshAfter: refreshAfterMs === undefined ? undefined : since - refreshAfterMs,
});

/** The part of a purchase that belongs to the whole call. The cap covers all its activities, and what their earlier attempts paid. */
function ofCall(call: RowsPiece['call'], { indexes }: SomeRows, since: number): Partial<PurchaseRequest> {
  if (call === null) return {};
  const { id, capMicros } = call;
  const segment = `${id}/${since}/${indexes[0] ?? 0}`;
  return capMicros === null ? { segment } : { segment, cap: { bookPrefix: `${id}/`, limitMicros: capMicros } };
}

function purchaseOf(deps: CallDeps, facts: RowRequestFacts, wanted: AnyPurchase): PurchaseRequest {
  const requests = rowRequests(deps, facts);
  if (requests !== null) return requestPurchase(deps, requests, wanted);
  const how = { options: facts.options as ContentsOptions, wire: sendOptions(facts) };
  return contentsPurchase(deps, { ...wanted, ...how, unitsPerRequest: URLS_PER_REQUEST });
}

export interface Bought extends Paid {
  readonly records: readonly UnitRecord[];
  readonly stopped: RowError | null;
}

/** Buys units. If a cap or a refusal of the service ends the purchase, the answers in the record are returned. */
async function buyAll(deps: CallDeps, purchaseRequest: PurchaseRequest, how: RowsHow): Promise<Bought> {
  const { units, freshness } = purchaseRequest;
  if (units.length === 0) return { records: [], requests: [], unknownOutcomes: 0, stopped: null };
  try {
    const { records, ...paid } = await buyNow(deps, purchaseRequest, !deps.alone);
    const isRetried = !deps.alone && Context.current().info.attempt > 1;
    const unknownOutcomes = isRetried ? await lostRequests(deps, purchaseRequest) : paid.unknownOutcomes;
    return { ...paid, unknownOutcomes, records, stopped: null };
  } catch (error) {
    if (deps.alone || !(error instanceof ApplicationFailure && error.nonRetryable)) throw error;
    const landed = [...(await deps.journal.read(units.map(({ key }) => key))).values()];
    const fresh = landed.filter(({ fetched_at: at }) => Date.parse(at) >= (freshness?.freshAfter ?? 0));
    const requests = shares(fresh, payerOf(deps));
    return {
      records: fresh,
      requests,
      unknownOutcomes: await lostRequests(deps, purchaseRequest),
      stopped: { tag: error.type ?? 'Error', message: isOwnCap(error) ? capReached(how) : error.message },
    };
  }
}

const isOwnCap = ({ details }: ApplicationFailure) => (details?.[0] as Partial<OverBudgetFacts>)?.scope === 'job';

/** A page has the rest of the cap that its owner gave. */
const capReached = ({ maxCostDollars = 0, spentDollars = 0 }: RowsHow): string =>
  `the cap of the call allows no further row: ${dollars(priceMicros(maxCostDollars + spentDollars))} is spent, or reserved for requests without an answer`;

/** Number of requests without an answer in the segment of an activity: the record also has those of a killed attempt. */
async function lostRequests({ journal }: CallDeps, { segment }: PurchaseRequest): Promise<number> {
  const totals = await journal.totals?.(segment);
  return totals?.unknown.filter(({ book }) => book === segment).length ?? 0;
}

function resultOf(
  index: number,
  unit: Unit | RowError,
  records: ReadonlyMap<string, UnitRecord>,
  requests: Bought['requests'],
): RowResult {
  const failed = (error: RowError, costDollars = 0): RowResult => ({
    ...{ index, status: 'error', data: null, error, costDollars },
  });
  if ('tag' in unit) return failed({ tag: unit.tag, message: unit.message });
  const record = records.get(unit.key);
  if (!record) return failed({ tag: NOT_BOUGHT, message: 'the row was not bought' });
  const { status, result, error_tag: tag, http_status: http, cost_micros: micros, request_id: id } = record;
  const isBought = requests.some(({ requestId, bought }) => bought && requestId === id);
  const costDollars = isBought ? toDollars(micros) : 0;
  if (status === 'success') return { index, status, data: result, error: null, costDollars };
  const said = fieldOf(result, 'error');
  const plain = `the service answered ${tag}${http === null ? '' : ` (HTTP ${http})`}`;
  const message = typeof said === 'string' ? said : (ruleOf(tag).message ?? plain);
  return failed({ tag: tag ?? 'ERROR', message }, costDollars);
}

const tooLarge = (result: RowResult, bytes: number, most: number, help: string): RowResult => ({
  ...result,
  ...{ status: 'error', data: null },
  error: { tag: 'ResultTooLarge', message: `the answer has ${bytes} bytes, and at most ${most} fit. ${help}` },
});

/** The first results, as many as fit; at least one. Another activity returns the others. `landed`: the units that the record has. */
function firstThatFit(
  results: readonly RowResult[],
  sizes: readonly number[],
  most: number,
  landed: readonly (Unit | RowError)[],
): readonly RowResult[] {
  const fit: RowResult[] = [];
  let sum = 0;
  for (const [nth, result] of results.entries()) {
    const bytes = sizes[nth] as number;
    if (sum + bytes > most && nth > 0) break;
    const { key } = (landed[nth] ?? {}) as Partial<Unit>;
    const help = key ? `It is in the record: readAnswer({ landed: ['${key}'] })` : ASK_FOR_LESS;
    fit.push(bytes > most ? tooLarge(result, bytes, most, help) : result);
    sum += bytes;
  }
  return fit;
}
