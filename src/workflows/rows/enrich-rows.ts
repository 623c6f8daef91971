import type { ActivityOptions } from '@temporalio/common';
import { ApplicationFailure, executeChild, patched, proxyActivities, uuid4, workflowInfo } from '@temporalio/workflow';
import type { createEnrichRows } from '../../activities/operations/enrich-rows.js';
import { BUDGET_EXCEEDED, DEFAULT_OPERATION, ROWS_PREFIX, URLS_PER_REQUEST } from '../../core/choices.js';
import type {
  EnrichedPage,
  EnrichedRows,
  EnrichRowsInput,
  RowError,
  RowFields,
  RowResult,
  RowsHow,
  RowsSummary,
} from '../../core/enrich-rows-schemas.js';
import type { RowsPlan } from '../../core/rows/enrich-rows.js';
import { toDollars } from '../../core/text/money.js';
import { callPolicy, slicePolicy } from '../shared/policies.js';
import { buyInPieces, causeOf, microsOf, type PieceRules, type RowMoney } from './row-pieces.js';

type RowActivities = ReturnType<typeof createEnrichRows>;

/** How `enrichRows` is called: any option of Temporal for its activities, such as `taskQueue`. */
export interface EnrichRowsOptions extends ActivityOptions {
  /** Gets the results batch by batch, in the order of the rows; then the result of the call has none. */
  readonly onBatch?: (results: readonly RowResult[]) => void | Promise<void>;
}

/** Rows of one batch, at most: the requests of the next one wait for its answers. As JSON they have so many bytes, or are a single row. */
const BATCH = { rows: 5000, bytes: 400_000 };
/** Rows of one activity with a record, which has many requests. */
const PER_RECORD = 250;
/** Activities in progress at once: without a record, for a page of single answers without one, and with one. */
const AT_ONCE = { alone: 50, page: 28, record: 2 } as const;

const MiB = 1_048_576;
/** The bytes of results of one activity, and of one call of `onBatch`. */
const PIECE_BYTES = MiB;
/** The bytes that Temporal accepts, less those of a page that are neither results nor `next`. */
const PAGE_BYTES = 2 * MiB - MiB / 32;
/** A row may have so much more bytes than those before it. */
const GROWTH = 1.5;
/** The pages of the first request, if nothing bounds their size; and the bytes of a page beside its texts. */
const FIRST_ROWS = 4;
const PLAIN_BYTES = 1000;
/** The bytes of one answer in a page; an answer with page contents is larger. */
const ANSWER_BYTES = { plain: MiB / 16, contents: MiB / 4 } as const;

/** Temporal ends a workflow whose history has 50 MiB, with everything in it. */
const MOST_HISTORY = 40 * MiB;
/** Requests of one row each that a workflow makes itself. More would make its history long, so child workflows make them. */
const MOST_REQUESTS = 1000;
/** Requests for which a history has room, without child workflows. */
const MOST_IN_HISTORY = 5000;
const CHILDREN = 3;

/**
 * Buys an answer for each row: `const { results, summary } = await enrichRows({ rows, maxCostDollars: 5 })`. Results have the order of the rows.
 * Equal rows are bought once. A row that fails does not fail the call. Rejects with `BadInput` before anything is bought if the request is wrong
 * for all rows, and with the refusal of the service if no row got an answer. For workflow code; the worker needs `SearchflowPlugin`.
 */
export async function enrichAllRows(input: EnrichRowsInput, options: EnrichRowsOptions = {}): Promise<EnrichedRows> {
  const { onBatch, ...own } = options;
  const call = new RowsCall(input, own, false);
  return { results: await call.results(onBatch), summary: call.summary() };
}

/** The results of the first rows, as many as fit into the result of a workflow, and the input for the others. */
export async function enrichPage(input: EnrichRowsInput): Promise<EnrichedPage> {
  const call = new RowsCall(input, {}, true);
  return { results: await call.results(), summary: call.summary(), next: call.rest() };
}

/** A result, and its bytes as JSON. */
interface Sized {
  readonly result: RowResult;
  readonly bytes: number;
}

/** One call: its rows, what they have cost, and the answers of its keys. */
class RowsCall {
  readonly #input: EnrichRowsInput;
  readonly #rows: readonly RowFields[];
  readonly #own: ActivityOptions;
  readonly #isPage: boolean;
  readonly #id = `${ROWS_PREFIX}${uuid4()}`;
  readonly #first: number;
  readonly #startedAt: number;
  readonly #money: RowMoney;
  readonly #counts = { succeeded: 0, failed: 0 };
  readonly #answered = new Map<string, Sized>();
  /** What the call paid for each row, in dollars. */
  readonly #paid: Map<number, number>;
  #how: RowsHow;
  readonly #seen = { requests: 0, rows: 0, bytes: 0, largest: 0 };
  /** The first row that has no result. */
  #at = 0;
  /** The bytes of results for which a page has room, beside its `next`; and of its results so far. */
  readonly #room: number;
  #bytes = 0;
  /** The bytes of results that `onBatch` may write into the history once more. */
  #kept = 0;
  #isGiven = false;

  constructor(input: EnrichRowsInput, own: ActivityOptions, isPage: boolean) {
    const { rows, requests, paidDollars = [], ...rest } = input;
    const given: unknown = rows ?? requests;
    if (!Array.isArray(given) || (rows && requests) || !given.every(isObject))
      throw ApplicationFailure.nonRetryable('enrichRows: give either rows or requests: a list of objects.', 'BadInput');
    if (!Array.isArray(paidDollars) || !paidDollars.every((dollars) => dollars >= 0))
      throw ApplicationFailure.nonRetryable('enrichRows: paidDollars must be a list of amounts.', 'BadInput');
    const { firstIndex = 0, spentDollars = 0, startedAt = Date.now(), maxCostDollars } = rest;
    this.#input = input;
    this.#own = own;
    this.#isPage = isPage;
    this.#rows = rows ?? requests ?? [];
    this.#room = isPage ? PAGE_BYTES - bytesOf(input) : Number.POSITIVE_INFINITY;
    this.#how = { ...rest, columns: rows ? [...new Set(rows.flatMap((row) => Object.keys(row)))] : null };
    this.#first = firstIndex;
    this.#startedAt = startedAt;
    this.#paid = new Map([...paidDollars.entries()].filter(([, dollars]) => dollars > 0));
    const spentMicros = microsOf(spentDollars);
    const capMicros = maxCostDollars === undefined ? null : microsOf(maxCostDollars) + spentMicros;
    this.#money = { spentMicros, capMicros, unknownOutcomes: 0, stopped: null, seen: { answers: 0, micros: 0 } };
  }

  /** Buys the rows, or as many as fit into a page. Returns the results, unless `onBatch` gets them. */
  async results(onBatch?: EnrichRowsOptions['onBatch']): Promise<readonly RowResult[]> {
    const all: RowResult[] = [];
    this.#isGiven = onBatch !== undefined;
    const give = onBatch ?? ((results) => void all.push(...results));
    const { requests, startedAt } = this.#input;
    const batches = inParts([...this.#rows.keys()], (row) => bytesOf(this.#rows[row] as RowFields), BATCH);
    const plans: RowsPlan[] = [];
    // A misspelt field fails the call before the first batch is bought.
    if (requests && startedAt === undefined) for (const rows of batches) plans.push(await this.#plan(rows));
    for (const [nth, rows] of batches.entries()) {
      const sized = await this.#batch(rows, plans[nth]);
      this.#at += sized.length;
      for (const { result, bytes } of sized) {
        this.#bytes += bytes;
        this.#counts[result.status === 'success' ? 'succeeded' : 'failed']++;
      }
      const { stopped } = this.#money;
      const isRefused = stopped !== null && stopped.tag !== BUDGET_EXCEEDED;
      // A later page is refused with a result, because rows before it may have got answers.
      if (isRefused && this.#counts.succeeded === 0 && startedAt === undefined)
        throw ApplicationFailure.nonRetryable(stopped.message, stopped.tag);
      for (const part of inParts(sized, ({ bytes }) => bytes, { ...BATCH, bytes: PIECE_BYTES }))
        await give(part.map(({ result }) => result));
      this.#kept = 0;
      if (sized.length < rows.length) break;
    }
    return all;
  }

  summary(): RowsSummary {
    const { spentMicros, unknownOutcomes, stopped } = this.#money;
    const costMicros = spentMicros - microsOf(this.#input.spentDollars ?? 0);
    return { rows: this.#at, ...this.#counts, costDollars: toDollars(costMicros), unknownOutcomes, stopped };
  }

  /** The input for the rows without a result; null: there are none. */
  rest(): EnrichRowsInput | null {
    if (this.#at >= this.#rows.length) return null;
    const { rows } = this.#input;
    const { spentMicros, capMicros } = this.#money;
    const left = this.#rows.slice(this.#at);
    const paid = left.map((_, nth) => this.#paid.get(this.#at + nth) ?? 0);
    return {
      ...this.#input,
      ...(rows ? { rows: left, urlField: this.#how.urlField } : { requests: left }),
      maxCostDollars: capMicros === null ? undefined : toDollars(Math.max(0, capMicros - spentMicros)),
      firstIndex: this.#first + this.#at,
      spentDollars: toDollars(spentMicros),
      startedAt: this.#startedAt,
      paidDollars: paid.slice(0, 1 + paid.findLastIndex((dollars) => dollars > 0)),
    };
  }

  /** Buys a batch. Returns the results of its first rows: of all of them, unless the page is full. */
  async #batch(rows: readonly number[], planned: RowsPlan | undefined): Promise<readonly Sized[]> {
    if (this.#money.stopped) return this.#fitting(rows, []).results;
    const plan = planned ?? (await this.#plan(rows));
    if (plan.urlField !== null) this.#how = { ...this.#how, urlField: plan.urlField };
    const units = plan.units.map((unit, nth) =>
      typeof unit === 'string' ? unit : failed(unit, this.#first + (rows[nth] as number)),
    );
    /** The first row of each key that has no answer yet. */
    const firsts = new Map<string, number>();
    for (const [nth, unit] of units.entries())
      if (typeof unit === 'string' && !this.#answered.has(unit) && !firsts.has(unit))
        firsts.set(unit, rows[nth] as number);
    const keyOf = new Map([...firsts].map(([key, row]) => [row, key]));
    const keep = (row: number, result: RowResult) => {
      const sized = sizedOf(result);
      this.#answered.set(keyOf.get(row) as string, sized);
      if (this.#isGiven) this.#kept += sized.bytes;
    };
    await this.#buy(plan, [...firsts.values()], keep, () => this.#fitting(rows, units).bytes);
    return this.#fitting(rows, units).results;
  }

  async #plan(rows: readonly number[]): Promise<RowsPlan> {
    const { planEnrichRows } = proxyActivities<RowActivities>({ ...callPolicy, summary: 'check rows', ...this.#own });
    return planEnrichRows(this.#some(rows)).catch((error: unknown) => {
      const cause = causeOf(error);
      throw cause ? ApplicationFailure.nonRetryable(cause.message, cause.type) : error;
    });
  }

  /**
   * The results of the first rows, up to one without an answer, or without room in the page. `bytes`: of the page with these and all other
   * answers; infinite if the page has no room for a further row.
   */
  #fitting(rows: readonly number[], units: readonly (string | Sized)[]): { results: readonly Sized[]; bytes: number } {
    const results: Sized[] = [];
    let bytes = this.#bytes;
    let later = 0;
    let isNext = true;
    for (const [nth, row] of rows.entries()) {
      const index = this.#first + row;
      const unit = units[nth] ?? '';
      const known = typeof unit === 'string' ? this.#answered.get(unit) : unit;
      const sized = known ?? (this.#money.stopped && failed(this.#money.stopped, index, this.#paid.get(row)));
      const isOwn = sized?.result.index === index;
      isNext &&= sized !== null;
      if (sized && !isNext && isOwn) later += sized.bytes;
      if (!sized || !isNext) continue;
      if (bytes > 0 && bytes + sized.bytes > this.#room) return { results, bytes: Number.POSITIVE_INFINITY };
      bytes += sized.bytes;
      results.push(isOwn ? sized : { ...sized, result: { ...sized.result, index, costDollars: 0 } });
    }
    return { results, bytes: bytes + later };
  }

  /** Buys rows, and tries failures once more that were free and may pass. */
  async #buy(
    plan: RowsPlan,
    rows: readonly number[],
    keep: PieceRules['keep'],
    pageBytes: () => number,
  ): Promise<void> {
    const { operation = DEFAULT_OPERATION, concurrency, maxCostDollars: cap } = this.#how;
    const isSingle = !plan.record && plan.urlField === null;
    const isLarge = this.#rows.length > MOST_REQUESTS && !this.#isPage && this.#own.taskQueue === undefined;
    // A workflow that began without the export continues without child workflows.
    if (isSingle && isLarge && isExported('enrichRows') && patched('enrichRows-children'))
      return this.#buyInChildren(rows, keep);
    if (isSingle && !this.#isPage && this.#rows.length > MOST_IN_HISTORY)
      throw ApplicationFailure.nonRetryable(
        `enrichRows: ${this.#rows.length} requests make the history of one workflow too long. Export the workflow that makes them in your ` +
          "workflow file: export { enrichRows } from 'searchflow/workflows'. Or pass stateDir or store to SearchflowPlugin.",
        'BadInput',
      );
    const bytes = isSingle && this.#isPage ? answerBytes(this.#how) : Math.min(PIECE_BYTES, this.#room);
    const most = { rows: plan.record ? PER_RECORD : isSingle ? 1 : URLS_PER_REQUEST, bytes };
    const atOnce = AT_ONCE[plan.record ? 'record' : isSingle && this.#isPage ? 'page' : 'alone'];
    const policy = { ...(plan.record ? slicePolicy : callPolicy), summary: `rows of ${operation}` };
    const { buyEnrichRows } = proxyActivities<RowActivities>({ ...policy, ...this.#own });
    const rules: PieceRules = {
      size: (inProgress) => (plan.record ? PER_RECORD : isSingle ? 1 : this.#pages(inProgress)),
      atOnce: Math.min(atOnce, concurrency ?? atOnce, Math.ceil((2 * MiB) / bytesOf(this.#how))),
      mostMicros: plan.record ? null : plan.mostMicros,
      isFull: (inProgress) => {
        const more = this.#mostBytes(most) * (inProgress + 1);
        if (this.#isLong(more)) {
          if (inProgress === 0) this.#money.stopped ??= historyFull;
          return true;
        }
        if (!this.#isPage) return false;
        if (isSingle && this.#seen.requests >= MOST_IN_HISTORY) return true;
        const page = pageBytes();
        return page + inProgress > 0 && page + more > this.#room;
      },
      ...{ keep, paid: this.#paid },
      buy: async (some, since, isLast, isPaid) => {
        const call = plan.record ? { id: this.#id, capMicros: cap === undefined ? null : microsOf(cap) } : null;
        this.#seen.requests++;
        const bought = await buyEnrichRows({ ...this.#some(some), since, maxBytes: bytes, isLast, isPaid, call });
        this.#seen.rows += some.length;
        this.#seen.bytes += bought.bytes;
        this.#seen.largest = Math.max(this.#seen.largest, bought.bytes);
        return bought;
      },
    };
    const again = await buyInPieces(rules, this.#money, rows, this.#startedAt);
    if (!this.#money.stopped) await buyInPieces(rules, this.#money, again, Date.now());
  }

  /** The bytes that the results of one activity may have, by those so far. */
  #mostBytes(most: { readonly rows: number; readonly bytes: number }): number {
    const { rows, bytes, largest } = this.#seen;
    if (rows < FIRST_ROWS) return most.bytes;
    return Math.min(most.bytes, GROWTH * (most.rows === 1 ? largest : (most.rows * bytes) / rows));
  }

  /** The rows of one request of page contents, by the size of pages so far, or by the bound of the request. 0: the first pages come first. */
  #pages(inProgress: number): number {
    const { rows, bytes } = this.#seen;
    const { text = true, highlights } = { ...this.#how.options, ...this.#how.template } as RowFields;
    const bound = (part: unknown) => (part ? Number((part as RowFields).maxCharacters) : 0);
    const mostBytes = GROWTH * (rows > 0 ? bytes / rows : bound(text) + bound(highlights) + PLAIN_BYTES);
    if (Number.isNaN(mostBytes)) return inProgress === 0 ? FIRST_ROWS : 0;
    // The sizes of a few pages say little: one request shows those of more.
    if (rows > 0 && rows < URLS_PER_REQUEST && inProgress > 0) return 0;
    return Math.max(1, Math.min(URLS_PER_REQUEST, Math.floor(PIECE_BYTES / mostBytes)));
  }

  /** Buys rows in child workflows: in several at once without a cap, because each gets what is left of the cap. */
  async #buyInChildren(rows: readonly number[], keep: PieceRules['keep']): Promise<void> {
    const size = Math.ceil(rows.length / (this.#money.capMicros === null ? CHILDREN : 1));
    const parts = Array.from({ length: CHILDREN }, (_, nth) => rows.slice(nth * size, (nth + 1) * size));
    const works = parts.filter(({ length }) => length > 0).map((part) => this.#buyInChild(part, keep));
    // Temporal terminates the children of a workflow that has ended, with what they have paid.
    await Promise.allSettled(works);
    await Promise.all(works);
  }

  /** Buys rows in one child workflow after the other: each returns a page. */
  async #buyInChild(rows: readonly number[], keep: PieceRules['keep']): Promise<void> {
    const { columns: _, firstIndex: __, ...how } = this.#how;
    const { spentMicros, capMicros } = this.#money;
    const some = rows.map((row) => this.#rows[row] as RowFields);
    const maxCostDollars = capMicros === null ? undefined : toDollars(capMicros - spentMicros);
    const own = { maxCostDollars, spentDollars: toDollars(spentMicros), startedAt: this.#startedAt };
    let next: EnrichRowsInput | null = { ...how, ...(this.#input.rows ? { rows: some } : { requests: some }), ...own };
    while (next !== null && !this.#money.stopped) {
      if (this.#isLong(PAGE_BYTES * CHILDREN)) {
        this.#money.stopped = historyFull;
        break;
      }
      const page: EnrichedPage = await executeChild<typeof enrichPage>('enrichRows', { args: [next] });
      for (const result of page.results) {
        const row = rows[result.index] as number;
        if (result.error?.tag !== BUDGET_EXCEEDED) keep(row, { ...result, index: this.#first + row });
      }
      this.#money.spentMicros += microsOf(page.summary.costDollars);
      this.#money.unknownOutcomes += page.summary.unknownOutcomes;
      this.#money.stopped ??= page.summary.stopped;
      next = page.next;
    }
  }

  /** Whether the history has no room for so many bytes more. */
  #isLong(bytes: number): boolean {
    return workflowInfo().historySize + this.#kept + bytes > MOST_HISTORY;
  }

  #some(rows: readonly number[]) {
    const indexes = rows.map((row) => this.#first + row);
    return { how: this.#how, rows: rows.map((row) => this.#rows[row] as RowFields), indexes };
  }
}

const historyFull: RowError = {
  tag: 'HISTORY_FULL',
  message:
    'not bought, because the history of the workflow is nearly full (50 MiB): enrich these rows in another workflow',
};

/** Whether the workflow file exports a workflow of this name. The SDK gives the exports no public name. */
function isExported(name: string): boolean {
  const { __TEMPORAL__: bundle } = globalThis as { readonly __TEMPORAL__?: { importWorkflows?(): object } };
  return name in (bundle?.importWorkflows?.() ?? {});
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const bytesOf = (value: object): number => new TextEncoder().encode(JSON.stringify(value)).length;

/** The bytes of a result count with those of a larger index. */
const sizedOf = (result: RowResult): Sized => ({ result, bytes: bytesOf(result) + 8 });

/** Cuts a list into parts of at most so many elements and bytes; an element that is larger is alone. */
function inParts<T>(all: readonly T[], bytesOf: (one: T) => number, most: typeof BATCH): readonly T[][] {
  const parts: T[][] = [];
  let left = 0;
  for (const one of all) {
    const bytes = bytesOf(one);
    if (bytes > left || parts.at(-1)?.length === most.rows) {
      parts.push([]);
      left = most.bytes;
    }
    left -= bytes;
    parts.at(-1)?.push(one);
  }
  return parts;
}

const failed = (error: RowError, index: number, costDollars = 0): Sized =>
  sizedOf({ index, status: 'error', data: null, error, costDollars });

function answerBytes({ options, template }: RowsHow): number {
  const { contents, text, numResults } = { ...options, ...template } as RowFields;
  const isLarge = contents !== undefined || text !== undefined || Number(numResults) > 25;
  return isLarge ? ANSWER_BYTES.contents : ANSWER_BYTES.plain;
}
