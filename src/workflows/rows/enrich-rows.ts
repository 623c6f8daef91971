import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  executeChild,
  patched,
  proxyActivities,
  uuid4,
} from '@temporalio/workflow';
import type { createEnrichRows } from '../../activities/operations/enrich-rows.js';
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
import { ROWS_PREFIX, type RowsPlan } from '../../core/rows/enrich-rows.js';
import { BUDGET_EXCEEDED } from '../../core/rows/stop-at-failed.js';
import { callPolicy, slicePolicy } from '../shared/policies.js';
import { buyInPieces, type PieceRules, type RowMoney, toMicros } from './row-pieces.js';

type RowActivities = ReturnType<typeof createEnrichRows>;

/** How `enrichRows` is called: any option of Temporal for its activities, such as `taskQueue`. */
export interface EnrichRowsOptions extends ActivityOptions {
  /** Gets the results batch by batch, in the order of the rows; then the result of the call has none. */
  readonly onBatch?: (results: readonly RowResult[]) => void | Promise<void>;
}

/** Rows of one batch, at most. As JSON they have at most so many characters, except for a single row. */
const BATCH = { rows: 2000, characters: 400_000 } as const;
/** Rows of one activity with a record, which has many requests; and of one request of contents. */
const PER_RECORD = 250;
const PER_REQUEST = 100;
/** Activities in progress at once, without and with a record. */
const AT_ONCE = { alone: 50, record: 2 } as const;

const MiB = 1_048_576;
/**
 * The bytes of results of one activity. A page takes no further piece above `page`. With the pieces in progress it then has less than 2 MiB,
 * which is what Temporal accepts.
 */
const BYTES = { piece: MiB, page: 0.75 * MiB } as const;
/** The bytes of one answer in a page; an answer with page contents is larger. */
const ANSWER_BYTES = { plain: MiB / 16, contents: MiB / 4 } as const;

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
  const results: RowResult[] = [];
  for (let batch = await call.next(); batch !== null; batch = await call.next()) {
    if (onBatch) await onBatch(batch);
    else results.push(...batch);
  }
  return { results, summary: call.summary() };
}

/** The results of the first rows, as many as fit into the result of a workflow, and the input for the others. */
export async function enrichPage(input: EnrichRowsInput): Promise<EnrichedPage> {
  const call = new RowsCall(input, {}, true);
  const results: RowResult[] = [];
  for (let batch = await call.next(); batch !== null; batch = await call.next()) results.push(...batch);
  return { results, summary: call.summary(), next: call.rest() };
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
  readonly #answered = new Map<string, RowResult>();
  #how: RowsHow;
  /** The first row that has no result. */
  #at = 0;
  /** Bytes of the answers so far, as JSON. */
  #bytes = 0;

  constructor(input: EnrichRowsInput, own: ActivityOptions, isPage: boolean) {
    const { rows, requests, ...rest } = input;
    if ((rows === undefined) === (requests === undefined))
      throw ApplicationFailure.nonRetryable('enrichRows: give either rows or requests.', 'BadInput');
    const { firstIndex = 0, spentDollars = 0, startedAt = Date.now(), maxCostDollars } = rest;
    this.#input = input;
    this.#own = own;
    this.#isPage = isPage;
    this.#rows = rows ?? requests ?? [];
    this.#how = { ...rest, columns: rows ? [...new Set(rows.flatMap((row) => Object.keys(row)))] : null };
    this.#first = firstIndex;
    this.#startedAt = startedAt;
    const spentMicros = toMicros(spentDollars);
    const capMicros = maxCostDollars === undefined ? null : toMicros(maxCostDollars) + spentMicros;
    this.#money = { spentMicros, capMicros, unknownOutcomes: 0, stopped: null, seen: { answers: 0, micros: 0 } };
  }

  /** The results of the next rows, in their order; null at the end. */
  async next(): Promise<readonly RowResult[] | null> {
    if (this.#at >= this.#rows.length || this.#isFull()) return null;
    const rows = this.#nextBatch();
    const results = this.#money.stopped ? rows.map((row) => this.#unbought(row)) : await this.#batch(rows);
    this.#at += results.length;
    for (const result of results) {
      this.#counts[result.status === 'success' ? 'succeeded' : 'failed']++;
      // Rows that nothing was bought for fill a page, too.
      if (result.error) this.#bytes += JSON.stringify(result).length;
    }
    const { stopped } = this.#money;
    if (stopped && stopped.tag !== BUDGET_EXCEEDED && this.#counts.succeeded === 0)
      throw ApplicationFailure.nonRetryable(stopped.message, stopped.tag);
    return results;
  }

  summary(): RowsSummary {
    const { spentMicros, unknownOutcomes, stopped } = this.#money;
    const { succeeded, failed } = this.#counts;
    return { rows: succeeded + failed, succeeded, failed, costDollars: spentMicros / 1e6, unknownOutcomes, stopped };
  }

  /** The input for the rows without a result; null: there are none. */
  rest(): EnrichRowsInput | null {
    if (this.#at >= this.#rows.length) return null;
    const { rows } = this.#input;
    const { spentMicros, capMicros } = this.#money;
    const left = this.#rows.slice(this.#at);
    return {
      ...this.#input,
      ...(rows ? { rows: left, urlField: this.#how.urlField } : { requests: left }),
      maxCostDollars: capMicros === null ? undefined : Math.max(0, capMicros - spentMicros) / 1e6,
      firstIndex: this.#first + this.#at,
      spentDollars: spentMicros / 1e6,
      startedAt: this.#startedAt,
    };
  }

  #nextBatch(): readonly number[] {
    const rows: number[] = [];
    for (let characters = 0; rows.length < BATCH.rows && this.#at + rows.length < this.#rows.length; ) {
      characters += JSON.stringify(this.#rows[this.#at + rows.length]).length;
      if (characters > BATCH.characters && rows.length > 0) break;
      rows.push(this.#at + rows.length);
    }
    return rows;
  }

  #isFull(): boolean {
    return this.#isPage && this.#bytes >= BYTES.page;
  }

  /** Buys a batch. Returns the results of its first rows: of all of them, unless the page is full. */
  async #batch(rows: readonly number[]): Promise<readonly RowResult[]> {
    const { planEnrichRows } = proxyActivities<RowActivities>({ ...callPolicy, summary: 'check rows', ...this.#own });
    const plan = await planEnrichRows(this.#some(rows)).catch((error: unknown) => {
      const failure = error instanceof ActivityFailure ? error.cause : null;
      throw failure instanceof ApplicationFailure
        ? ApplicationFailure.nonRetryable(failure.message, failure.type)
        : error;
    });
    if (plan.urlField !== null) this.#how = { ...this.#how, urlField: plan.urlField };
    const unitOf = (row: number) => plan.units[row - (rows[0] as number)] as string | RowError;
    /** The first row of each key that has no answer yet. */
    const firsts = new Map<string, number>();
    for (const row of rows) {
      const unit = unitOf(row);
      if (typeof unit === 'string' && !this.#answered.has(unit) && !firsts.has(unit)) firsts.set(unit, row);
    }
    const keep = (row: number, result: RowResult) => void this.#answered.set(unitOf(row) as string, result);
    await this.#buy(plan, [...firsts.values()], keep);
    const results: RowResult[] = [];
    for (const row of rows) {
      const unit = unitOf(row);
      const answer = typeof unit === 'string' ? this.#answered.get(unit) : failed(unit);
      if (!answer && !this.#money.stopped) break;
      const index = this.#first + row;
      if (!answer) results.push(this.#unbought(row));
      else results.push(answer.index === index ? answer : { ...answer, index, costDollars: 0 });
    }
    return results;
  }

  /** Buys rows, and tries failures once more that were free and may pass. */
  async #buy(plan: RowsPlan, rows: readonly number[], keep: PieceRules['keep']): Promise<void> {
    const { operation = 'contents', concurrency } = this.#how;
    const isSingle = !plan.record && plan.urlField === null;
    if (isSingle && this.#hasChildren()) return this.#buyInChildren(rows, keep);
    if (isSingle && this.#rows.length > MOST_IN_HISTORY)
      throw ApplicationFailure.nonRetryable(
        `enrichRows: ${this.#rows.length} requests make the history of one workflow too long. Export the workflow that makes them in your ` +
          "workflow file: export { enrichRows } from 'searchflow/workflows'. Or pass stateDir or store to SearchflowPlugin.",
        'BadInput',
      );
    const bytes = isSingle && this.#isPage ? answerBytes(this.#how) : BYTES.piece;
    const usual = this.#isPage ? Math.floor(MiB / bytes) : plan.record ? AT_ONCE.record : AT_ONCE.alone;
    const policy = { ...(plan.record ? slicePolicy : callPolicy), summary: `rows of ${operation}` };
    const { buyEnrichRows } = proxyActivities<RowActivities>({ ...policy, ...this.#own });
    const { capMicros } = this.#money;
    const rules: PieceRules = {
      size: plan.record ? PER_RECORD : isSingle ? 1 : PER_REQUEST,
      atOnce: Math.min(usual, concurrency ?? usual),
      mostMicros: plan.record ? null : plan.mostMicros,
      isFull: () => this.#isFull(),
      keep,
      buy: async (some, since) => {
        const call = plan.record ? { id: this.#id, capMicros } : null;
        const bought = await buyEnrichRows({ ...this.#some(some), since, maxBytes: bytes, call });
        this.#bytes += bought.bytes;
        return bought;
      },
    };
    const again = await buyInPieces(rules, this.#money, rows, this.#startedAt);
    if (!this.#money.stopped) await buyInPieces(rules, this.#money, again, Date.now());
  }

  /** Whether child workflows make the requests. They need the workflow `enrichRows` in the workflow file of the caller. */
  #hasChildren(): boolean {
    const isLarge = this.#rows.length > MOST_REQUESTS && !this.#isPage && this.#own.taskQueue === undefined;
    // A workflow that began without the export continues without child workflows.
    return isLarge && isExported('enrichRows') && patched('enrichRows-children');
  }

  /** Buys rows in child workflows: in several at once without a cap, because each gets what is left of the cap. */
  async #buyInChildren(rows: readonly number[], keep: PieceRules['keep']): Promise<void> {
    const size = Math.ceil(rows.length / (this.#money.capMicros === null ? CHILDREN : 1));
    const parts = Array.from({ length: CHILDREN }, (_, nth) => rows.slice(nth * size, (nth + 1) * size));
    await Promise.all(parts.filter(({ length }) => length > 0).map((part) => this.#buyInChild(part, keep)));
  }

  /** Buys rows in one child workflow after the other: each returns a page. */
  async #buyInChild(rows: readonly number[], keep: PieceRules['keep']): Promise<void> {
    const { columns: _, firstIndex: __, ...how } = this.#how;
    const { spentMicros, capMicros } = this.#money;
    const some = rows.map((row) => this.#rows[row] as RowFields);
    const maxCostDollars = capMicros === null ? undefined : (capMicros - spentMicros) / 1e6;
    const own = { maxCostDollars, spentDollars: 0, startedAt: this.#startedAt };
    let next: EnrichRowsInput | null = { ...how, ...(this.#input.rows ? { rows: some } : { requests: some }), ...own };
    while (next !== null && !this.#money.stopped) {
      const before: number = next.spentDollars ?? 0;
      const { results, summary, ...rest }: EnrichedPage = await executeChild<typeof enrichPage>('enrichRows', {
        args: [next],
      });
      for (const result of results) {
        const row = rows[result.index] as number;
        if (result.error?.tag !== BUDGET_EXCEEDED) keep(row, { ...result, index: this.#first + row });
      }
      this.#money.spentMicros += toMicros(summary.costDollars) - toMicros(before);
      this.#money.unknownOutcomes += summary.unknownOutcomes;
      this.#money.stopped ??= summary.stopped;
      ({ next } = rest);
    }
  }

  #some(rows: readonly number[]) {
    const indexes = rows.map((row) => this.#first + row);
    return { how: this.#how, rows: rows.map((row) => this.#rows[row] as RowFields), indexes };
  }

  #unbought(row: number): RowResult {
    return { ...failed(this.#money.stopped as RowError), index: this.#first + row };
  }
}

/** Whether the workflow file exports a workflow of this name. The SDK gives the exports no public name. */
function isExported(name: string): boolean {
  const { __TEMPORAL__: bundle } = globalThis as { readonly __TEMPORAL__?: { importWorkflows?(): object } };
  return name in (bundle?.importWorkflows?.() ?? {});
}

const failed = (error: RowError): RowResult => ({ index: -1, status: 'error', data: null, error, costDollars: 0 });

/** The bytes that an answer may have in a page. */
function answerBytes({ options, template }: RowsHow): number {
  const { contents, text, numResults } = { ...options, ...template } as RowFields;
  const isLarge = contents !== undefined || text !== undefined || Number(numResults) > 25;
  return isLarge ? ANSWER_BYTES.contents : ANSWER_BYTES.plain;
}
