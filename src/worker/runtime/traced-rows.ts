import { keysOfJob } from '../../activities/rows/row-requests.js';
import { sliceSegment } from '../../activities/rows/slice-loads.js';
import { fieldOf } from '../../api/checks/field-of.js';
import type { Output } from '../../api/command-outputs.js';
import { CodedError } from '../../core/errors/coded-error.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import { knownCost, sentCount, type UnitHistory, unknownMicros } from '../../core/purchase/attempts.js';
import { ruleOf } from '../../core/purchase/failure-tags.js';
import { jobOf } from '../../core/purchase/journal.js';
import { type RetryHelp, retryHelp } from '../../core/purchase/retry-help.js';
import { wantedRows } from '../../core/rows/job.js';
import type { FailedFilter, LoadedRow, RowPlace } from '../../core/rows/loaded-row.js';
import { sentenceOf } from '../../core/rows/pause.js';
import type { RowWarehouse, StagedRow } from '../../core/rows/row-warehouse.js';
import { inputText } from '../../core/rows/source-fields.js';
import type { Stages } from '../../core/rows/stages.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { count, some } from '../../core/text/count.js';
import { readSlice } from '../../rows/index.js';
import { toUrl } from '../../rows/url-problem.js';
import { warehouseFile } from '../../warehouse/index.js';
import { type JobStatus, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { findJob } from '../staging/find-job.js';
import type { RuntimeParts } from './runtime-parts.js';

/** Names the row to trace: by its number, or by its URL. `withAnswer`: the trace has the kept text of the answer. */
export type TracedName = ({ readonly row: number } | { readonly url: string }) & { readonly withAnswer?: boolean };

const noHistory: UnitHistory = { attempts: [], landed: null };

/** What the requests for a unit cost, and the most that requests without an answer may have cost. */
function spentFor(history: UnitHistory) {
  const { micros, isWhole } = knownCost(history);
  return { costMicros: micros, costIsWhole: isWhole, unknownMicros: unknownMicros(history) };
}

/** Whether a retry of a failed row of the job can help. */
const helpOf = (
  { rowsPerRun }: StagedJob,
  { status, tag }: Pick<LoadedRow, 'status' | 'tag'>,
  paidMicros: number,
): RetryHelp => retryHelp({ status: status === 'invalid' ? 'invalid' : 'error', tag, rowsPerRun, paidMicros });

const paidFor = (history: UnitHistory): number => knownCost(history).micros + unknownMicros(history);

/** The failed rows of a job, from its warehouse and the journal, without Temporal. */
export async function failedRowsOf(parts: RuntimeParts, name: string, filter: FailedFilter): Promise<Output<'failed'>> {
  const { staged } = await findJob(parts.store.entries, name);
  const { job, into } = staged;
  const { value, problem } = await readWarehouse(parts, staged, (warehouse) => warehouse.failedRows(job, filter));
  if (value === null)
    throw new CodedError('warehouse-unusable', `The failed rows of ${job} cannot be read now: ${problem}`);
  const keys = value.rows.flatMap(({ key }) => key ?? []);
  const histories = await (await parts.store.journal()).history(keys, [job]);
  return {
    ...{ kind: 'failed', job, into },
    rows: value.groups.reduce((sum, { rows }) => sum + rows, 0),
    byTag: value.groups.map((group) => ({ ...group, ...helpOf(staged, group, group.costMicros) })),
    listed: value.rows.map((found) => {
      const { row, status, tag, message, httpStatus, key, unit, input, requestId, fetchedAt } = found;
      const history = histories.get(key ?? '') ?? noHistory;
      return {
        ...{ row, status, tag, message, httpStatus, unit, input, attempts: sentCount(history), ...spentFor(history) },
        ...{ requestId, fetchedAt, ...helpOf(staged, found, paidFor(history)) },
      };
    }),
  };
}

/**
 * Traces a row of a job, from its stage, the journal and the warehouse. Sends nothing, and starts nothing. `statusOf` returns the state of the
 * job; without a server, the state that was recorded last.
 */
export async function traceRow(
  parts: RuntimeParts,
  name: string,
  asked: TracedName,
  statusOf: (entry: JobEntry) => Promise<JobStatus>,
): Promise<Output<'trace'>> {
  const entry = await findJob(parts.store.entries, name);
  const { staged } = entry;
  const { job, generation, columns, operation, into } = staged;
  const rows = new StagedRows(parts.store.stages, staged);
  const { place, line, problem } =
    'row' in asked ? await byNumber(parts, staged, rows, asked.row) : await byUrl(parts, staged, rows, asked.url);
  const loaded = place?.loaded;
  const key = line?.k ?? loaded?.key ?? null;
  const journal = await parts.store.journal();
  if (key !== null) await journal.verify([key]);
  const history = (key === null ? null : (await journal.history([key], [job], asked.withAnswer)).get(key)) ?? noHistory;
  const status = await statusOf(entry);
  const state = stateOf(line, place, history);
  const failed = { status: state === 'invalid' ? 'invalid' : 'error', tag: line?.e ?? loaded?.tag ?? null } as const;
  const help = state === 'failed' || state === 'invalid' ? helpOf(staged, failed, paidFor(history)) : null;
  const slice = line === null ? null : rows.sliceOf(line.n);
  return {
    ...{ kind: 'trace', job, row: line?.n ?? loaded?.row ?? null, state },
    reason: reasonOf(state, { staged, line, place, history, status }),
    ...{ jobState: status.phase, source: inputText(staged) },
    input: (line?.i ?? loaded?.input ?? []).map((value, nth) => ({ column: columns[nth] ?? null, value })),
    ...{ operation, unit: line?.u ?? loaded?.unit ?? null, unitKey: key },
    sharedWith: place?.sharing ?? (await rows.sharing(line)),
    slice:
      line === null || slice === null
        ? null
        : {
            number: slice,
            segment: sliceSegment(job, generation, slice),
            afterLimit: line.n > wantedRows(staged),
          },
    ...{ requests: sentCount(history), ...spentFor(history) },
    attempts: history.attempts.map(({ segment, operation: _, came, ...attempt }) => ({
      ...{ ...attempt, job: jobOf(segment) },
    })),
    answer: history.landed && answerFacts(history.landed),
    answerText: key !== null && asked.withAnswer ? await answerOf(parts, key, history) : null,
    loaded: place && loadOf(into, place),
    published: place?.published ?? null,
    retry: help && { retry: help.retry, why: help.why },
    problems: [problem, rows.problem].filter((one) => one !== null),
  };
}

const answerFacts = ({ segment: _, ...answer }: NonNullable<UnitHistory['landed']>) => answer;

function loadOf(into: string, { loaded, ledgerAt, misfits }: RowPlace): Output<'trace'>['loaded'] {
  const { row: _row, hash: _hash, key: _key, unit: _unit, input: _input, ...load } = loaded;
  return { into, ledgerAt, misfits, ...load };
}

interface Found {
  readonly line: StagedRow | null;
  readonly place: RowPlace | null;
  readonly problem: string | null;
}

async function byNumber(parts: RuntimeParts, staged: StagedJob, rows: StagedRows, row: number): Promise<Found> {
  if (row > staged.rows)
    throw new UsageError('row-unknown', `--row: ${staged.job} has ${some(staged.rows, 'row')}, from 1 on.`);
  const line = await rows.row(row);
  const name = line ? { row, hash: line.h } : { row };
  const { value, problem } = await readWarehouse(parts, staged, (warehouse) => warehouse.placeOf(staged.job, name));
  return { line, place: value, problem };
}

async function byUrl(parts: RuntimeParts, staged: StagedJob, rows: StagedRows, typed: string): Promise<Found> {
  const { job, unitColumn, columns } = staged;
  if (unitColumn === null)
    throw new UsageError('option-unusable', `--url: ${job} has no column of URLs. Name the row with --row N.`);
  const text = typed.trim();
  const url = toUrl(text, staged.defaultScheme ?? null);
  const unit = [...new Set([text, url ?? text])];
  // Another spelling of the page has the same key.
  const key = url === null ? null : keysOfJob({ origin: staged.origin, sha256 }, staged)(url);
  const cell = columns.indexOf(unitColumn) + 1;
  const read = await readWarehouse(parts, staged, (warehouse) => warehouse.placeOf(job, { unit, cell, key }));
  const { value: place, problem } = read;
  const line =
    place?.loaded.row != null
      ? await rows.row(place.loaded.row)
      : ((await rows.find(({ u, i }) => unit.includes(u ?? '') || unit.includes((i[cell - 1] ?? '').trim()))) ??
        (await rows.find(({ k }) => k !== null && k === key)));
  // The warehouse may number the rows of an earlier input.
  if (line !== null && place !== null && place.loaded.hash !== line.h)
    return { line: await rows.find(({ h }) => h === place.loaded.hash), place, problem };
  if (line !== null || place !== null) return { line, place, problem };
  const why = [problem, rows.problem].filter((one) => one !== null).map((one) => ` ${one}.`);
  throw new UsageError('row-unknown', `--url: ${job} has no row with the URL ${text}.${why.join('')}`);
}

async function answerOf(parts: RuntimeParts, key: string, { attempts, landed }: UnitHistory): Promise<string | null> {
  const came = attempts.findLast((attempt) => attempt.came)?.came ?? null;
  if (!landed?.inJournal) return came;
  const result = (await (await parts.store.journal()).read([key])).get(key)?.result ?? null;
  const body = fieldOf(result, 'body');
  return ruleOf(landed.tag).answer === 'unread' && typeof body === 'string' ? body : (JSON.stringify(result) ?? came);
}

type State = Output<'trace'>['state'];

function stateOf(line: StagedRow | null, place: RowPlace | null, { attempts, landed }: UnitHistory): State {
  const loaded = place?.loaded;
  if (line === null && loaded && loaded.vanishedAt !== null) return 'vanished';
  if (line ? line.k === null : loaded?.status === 'invalid') return 'invalid';
  const isPresent = loaded !== undefined && loaded.vanishedAt === null;
  if (isPresent && loaded.outdatedAt === null && (line === null || loaded.key === line.k)) {
    if (loaded.status === 'error') return 'failed';
    return 'success';
  }
  const last = attempts.findLast(({ outcome }) => outcome !== 'unsent' && outcome !== 'free');
  if (last?.outcome === 'open') return 'inFlight';
  if (landed) return 'landed';
  if (last?.outcome === 'unknown') return 'unknown';
  return isPresent ? 'outdated' : 'notBought';
}

interface Facts extends Omit<Found, 'problem'> {
  readonly staged: StagedJob;
  readonly history: UnitHistory;
  readonly status: JobStatus;
}

/** Why the row is in its state, if the state alone does not say so. */
function reasonOf(state: State, { staged, line, place, history, status }: Facts): string | null {
  const { vanishedAt = null, tag, message } = place?.loaded ?? {};
  if (state === 'invalid') return line ? `${line.e}: ${line.m}` : `${tag}: ${message}`;
  if (state === 'vanished')
    return `missing from the input since ${new Date(vanishedAt ?? 0).toISOString().replace('T', ' ').replace('Z', ' UTC')}`;
  if (!['notBought', 'landed', 'unknown', 'outdated'].includes(state)) return null;
  if (line && line.n > wantedRows(staged))
    return `it is after --limit ${count(staged.limit ?? 0)}; run the command without --limit to buy it`;
  const held = history.attempts.at(-1)?.outcome === 'free' ? 'its last request failed and was not charged; ' : '';
  const phase = status.phase === 'waiting' ? 'waiting for a worker' : status.phase;
  return `${held}the job is ${phase}${status.message === null ? '' : `: ${sentenceOf(status)}`}`;
}

/** Reads the warehouse of a job. `problem`: why it cannot be read now, a sentence without its dot; then `value` is null. */
async function readWarehouse<T>(
  parts: RuntimeParts,
  staged: StagedJob,
  read: (warehouse: RowWarehouse) => Promise<T>,
): Promise<{ readonly value: T | null; readonly problem: string | null }> {
  try {
    return { value: await read(parts.warehouses.of(staged)), problem: null };
  } catch (error) {
    if (error instanceof WarehouseBusy) return { value: null, problem: busyText(parts, staged, error) };
    if (error instanceof WarehouseUnusable) return { value: null, problem: error.message };
    throw error;
  }
}

/** A worker has a DuckDB file open while it loads. */
function busyText({ store }: RuntimeParts, { into }: StagedJob, { message, pid }: WarehouseBusy): string {
  if (pid === null || pid !== store.holder()) return message;
  return `${warehouseFile(into)} is open in process ${pid}, which is the worker of this folder and is loading rows. Run the command again in a moment, or when the job pauses or ends`;
}

class StagedRows {
  /** Why the stage cannot be read; null if it can. */
  problem: string | null = null;
  readonly #stages: Stages;
  readonly #staged: StagedJob;

  constructor(stages: Stages, staged: StagedJob) {
    this.#stages = stages;
    this.#staged = staged;
  }

  sliceOf(row: number): number {
    return Math.floor((row - 1) / Math.max(1, this.#staged.rowsPerSlice));
  }

  /** A row by its number; null if the stage cannot be read. */
  async row(row: number): Promise<StagedRow | null> {
    return (await this.#slice(this.sliceOf(row))).find(({ n }) => n === row) ?? null;
  }

  /** The first row that matches. Reads the stage up to this row. */
  async find(matches: (row: StagedRow) => boolean): Promise<StagedRow | null> {
    for (let slice = 0; slice < this.#staged.slices && this.problem === null; slice++) {
      const found = (await this.#slice(slice)).find(matches);
      if (found) return found;
    }
    return null;
  }

  /** An earlier row with the same unit, which is bought for both. */
  async sharing(row: StagedRow | null): Promise<RowPlace['sharing']> {
    const earlier = row?.d ? await this.find(({ n, k }) => k === row.k && n < row.n) : null;
    return earlier === null ? { rows: 0, first: [] } : { rows: 1, first: [earlier.n] };
  }

  async #slice(slice: number): Promise<readonly StagedRow[]> {
    try {
      return await readSlice(await this.#stages.slice(this.#staged, slice));
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      return [];
    }
  }
}
