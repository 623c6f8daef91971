import { keysOfJob } from '../../activities/rows/row-requests.js';
import { sliceSegment } from '../../activities/rows/slice-loads.js';
import { fieldOf } from '../../api/checks/field-of.js';
import { costOf, type UnitHistory, unknownMicros } from '../../core/purchase/attempts.js';
import type { RetryHelp } from '../../core/purchase/retry-help.js';
import { type StagedJob, wantedRows } from '../../core/rows/job.js';
import type { JobEntry } from '../../core/rows/job-entries.js';
import type { RowPlace } from '../../core/rows/loaded-row.js';
import type { StagedRow } from '../../core/rows/row-warehouse.js';
import { some } from '../../core/text/count.js';
import { toUrl } from '../../rows/url-problem.js';
import { type JobStatus, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { findJob } from '../staging/find-job.js';
import { StagedRows } from '../staging/staged-rows.js';
import { helpOf } from './failed-rows.js';
import type { RuntimeParts } from './runtime-parts.js';
import { readWarehouse } from './warehouse-read.js';

/** Names the row to trace: by its number, or by its URL. */
export type TracedName = ({ readonly row: number } | { readonly url: string }) & {
  /** Whether the trace has the kept text of the answer. */
  readonly withAnswer?: boolean;
};

/**
 * What has become of a row. `notBought`: no request for its unit; `inFlight`: a request or run is open; `unknown`: its last request got no
 * answer; `landed`: bought, not loaded; `success`, `failed` and `quarantined`: loaded; `invalid`: a bad row; `outdated`: loaded with an answer
 * to other options; `vanished`: no longer in the input.
 */
export type RowState =
  | ('notBought' | 'inFlight' | 'unknown' | 'landed')
  | ('success' | 'failed' | 'quarantined' | 'invalid' | 'outdated' | 'vanished');

/** A row from its input to its warehouse. */
export interface RowTrace {
  readonly job: string;
  readonly staged: StagedJob;
  readonly row: number | null;
  readonly input: readonly (string | null)[];
  readonly unit: string | null;
  readonly key: string | null;
  /** Why the row cannot be bought; null if it can. */
  readonly bad: { readonly tag: string; readonly message: string } | null;
  /** The slice of the current stage, and its segment in the journal; null for a row that is not in the stage. */
  readonly slice: { readonly number: number; readonly segment: string } | null;
  /** Whether the row is after the limit of the last run. */
  readonly isAfterLimit: boolean;
  readonly history: UnitHistory;
  /** The newest kept text: of the landed answer, or of what came instead. Null: none is kept, or it was not asked for. */
  readonly answer: string | null;
  readonly place: RowPlace | null;
  /** Whether the warehouse could be read; if not, `place` is null, and a landed row may be loaded. */
  readonly isPlaceKnown: boolean;
  /** Other rows with the same unit: their number, and the first of them. */
  readonly sharing: RowPlace['sharing'];
  readonly state: RowState;
  /** Whether another purchase can help; null for a row that has not failed. */
  readonly help: RetryHelp | null;
  /** State of the job; without a server, the state that was recorded last. */
  readonly status: Pick<JobStatus, 'phase' | 'message'>;
  /** Parts that cannot be read now, a sentence without its dot for each. */
  readonly problems: readonly string[];
}

const noHistory: UnitHistory = { attempts: [], landed: null };

/**
 * Traces a row of a job, from its stage, the journal and the warehouse. Sends nothing, and starts nothing. `statusOf` returns the state of the
 * job.
 */
export async function traceRow(
  parts: RuntimeParts,
  name: string,
  asked: TracedName,
  statusOf: (entry: JobEntry) => Promise<JobStatus>,
): Promise<RowTrace> {
  const entry = await findJob(parts.store.entries, name);
  const { staged } = entry;
  checkName(staged, asked);
  const rows = new StagedRows(parts.store.stages, staged);
  const found =
    'row' in asked ? await byNumber(parts, staged, rows, asked.row) : await byUrl(parts, staged, rows, asked.url);
  const { place, line } = found;
  const key = line?.k ?? place?.loaded.key ?? null;
  const history = key === null ? noHistory : await historyOf(parts, staged, key, asked.withAnswer);
  const { phase, message } = await statusOf(entry);
  const row = line?.n ?? place?.loaded.row ?? null;
  const state = stateOf(line, place, history);
  const paid = costOf(history).micros + unknownMicros(history);
  const isFailed = state === 'failed' || state === 'invalid';
  const slice = line === null ? null : rows.sliceOf(line.n);
  return {
    ...{ job: staged.job, staged, row, key, history, place, state, status: { phase, message } },
    answer: key !== null && asked.withAnswer ? await answerOf(parts, key, history) : null,
    isPlaceKnown: found.problem === null,
    input: line?.i ?? place?.loaded.input ?? [],
    unit: line?.u ?? place?.loaded.unit ?? null,
    bad: badOf(line, place),
    slice: slice === null ? null : { number: slice, segment: sliceSegment(staged.job, staged.generation, slice) },
    isAfterLimit: line !== null && line.n > wantedRows(staged),
    sharing: place?.sharing ?? (await rows.sharing(line)),
    help: isFailed
      ? helpOf(staged, { status: state === 'invalid' ? 'invalid' : 'error', tag: tagOf(line, place) }, paid)
      : null,
    problems: [found.problem, rows.problem].filter((one) => one !== null),
  };
}

function checkName(staged: StagedJob, asked: TracedName): void {
  const { job, rows, unitColumn } = staged;
  if ('row' in asked && asked.row > rows)
    throw new UsageError('row-unknown', `--row: ${job} has ${some(rows, 'row')}, from 1 on.`);
  if ('url' in asked && unitColumn === null)
    throw new UsageError('option-unusable', `--url: ${job} has no column of URLs. Name the row with --row N.`);
}

interface Found {
  readonly line: StagedRow | null;
  readonly place: RowPlace | null;
  readonly problem: string | null;
}

async function byNumber(parts: RuntimeParts, staged: StagedJob, rows: StagedRows, row: number): Promise<Found> {
  const line = await rows.row(row);
  const name = { row, ...(line ? { hash: line.h } : {}) };
  const read = await readWarehouse(parts, () => parts.warehouses.of(staged).placeOf(staged.job, name));
  return { line, place: read.value, problem: read.problem };
}

async function byUrl(parts: RuntimeParts, staged: StagedJob, rows: StagedRows, typed: string): Promise<Found> {
  const text = typed.trim();
  const url = toUrl(text, staged.defaultScheme ?? null);
  const unit = [...new Set([text, url ?? text])];
  // Another spelling of the page has the same key.
  const key = url === null ? null : keysOfJob({ origin: staged.origin, sha256 }, staged)(url);
  const cell = staged.columns.indexOf(staged.unitColumn as string) + 1;
  const read = await readWarehouse(parts, () => parts.warehouses.of(staged).placeOf(staged.job, { unit, cell, key }));
  const place = read.value;
  const line =
    place?.loaded.row != null
      ? await rows.row(place.loaded.row)
      : ((await rows.find(({ u, i }) => unit.includes(u ?? '') || unit.includes((i[cell - 1] ?? '').trim()))) ??
        (await rows.find(({ k }) => k !== null && k === key)));
  // The warehouse may number the rows of an earlier input.
  const isSame = line !== null && (place === null || place.loaded.hash === line.h);
  if (isSame || (line === null && place !== null)) return { line, place, problem: read.problem };
  if (line !== null && place !== null) {
    const other = await rows.find(({ h }) => h === place.loaded.hash);
    return { line: other, place, problem: read.problem };
  }
  const why = [read.problem, rows.problem].filter((one) => one !== null).map((one) => ` ${one}.`);
  throw new UsageError('row-unknown', `--url: ${staged.job} has no row with the URL ${text}.${why.join('')}`);
}

async function historyOf(
  parts: RuntimeParts,
  { job }: StagedJob,
  key: string,
  texts: boolean | undefined,
): Promise<UnitHistory> {
  const journal = await parts.store.journal();
  await journal.verify([key]);
  return (await journal.history([key], [job], texts)).get(key) ?? noHistory;
}

async function answerOf(parts: RuntimeParts, key: string, { attempts, landed }: UnitHistory): Promise<string | null> {
  const came = attempts.findLast((attempt) => attempt.came)?.came ?? null;
  if (!landed?.hasBody) return came;
  const result = (await (await parts.store.journal()).read([key])).get(key)?.result ?? null;
  const body = fieldOf(result, 'body');
  return landed.errorTag === 'RESPONSE_SHAPE' && typeof body === 'string' ? body : (JSON.stringify(result) ?? came);
}

function stateOf(line: StagedRow | null, place: RowPlace | null, { attempts, landed }: UnitHistory): RowState {
  const loaded = place?.loaded;
  if (line === null && loaded && loaded.vanishedAt !== null) return 'vanished';
  if (line ? line.k === null : loaded?.status === 'invalid') return 'invalid';
  const isCurrent = loaded && loaded.vanishedAt === null && (line === null || loaded.key === line.k);
  if (isCurrent && loaded.outdatedAt === null) {
    if (loaded.status === 'error') return 'failed';
    return place.isQuarantined ? 'quarantined' : 'success';
  }
  const last = attempts.filter(({ outcome }) => outcome !== 'unsent' && outcome !== 'free').at(-1);
  if (last?.outcome === 'open') return 'inFlight';
  if (landed) return 'landed';
  if (last?.outcome === 'unknown') return 'unknown';
  return loaded && loaded.vanishedAt === null ? 'outdated' : 'notBought';
}

function badOf(line: StagedRow | null, place: RowPlace | null): RowTrace['bad'] {
  if (line) return line.k === null ? { tag: line.e ?? '', message: line.m ?? '' } : null;
  const { status, tag, message } = place?.loaded ?? {};
  return status === 'invalid' ? { tag: tag ?? '', message: message ?? '' } : null;
}

const tagOf = (line: StagedRow | null, place: RowPlace | null): string | null =>
  (line?.k === null ? line.e : place?.loaded.tag) ?? null;
