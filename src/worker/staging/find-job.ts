import { basename, dirname, join, resolve } from 'node:path';
import { DEFAULT_OPERATION } from '../../core/choices.js';
import { foreignScheme } from '../../core/connections/address-secrets.js';
import { isDatabaseSource, sourceIdentity, sourceShown } from '../../core/connections/source-address.js';
import type { JobEntry, JobState, StagedJob } from '../../core/job-entry-schemas.js';
import type { EnrichCsvInput } from '../../core/row-job-schemas.js';
import type { JobEntries } from '../../core/rows/job-entries.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { type Said, toContinue } from '../../core/rows/pause.js';
import { isAddress, isPattern, pathOfAddress, sqlText, whyNoPath } from '../../core/rows/source-fields.js';
import { canonicalJson } from '../../core/text/json.js';
import { warehouseIdentity } from '../../warehouse/index.js';
import type { DatabaseAddress } from '../config/database-setting.js';
import { UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { warehouseOf } from '../config/warehouse-setting.js';

/** Why a command ended its work; also the reason with which Temporal terminates a workflow that cannot stop by itself. */
const stops = { 'command-ended': 'its command ended', 'command-stopped': 'its command was stopped' } as const;
export type StopReason = keyof typeof stops;
export const isStopReason = (reason: string): reason is StopReason => Object.hasOwn(stops, reason);

/** Returns what is said of work that ended for this reason. */
export const saidOfStop = (reason: StopReason, job: string): Said<string> => ({
  message: stops[reason],
  next:
    reason === 'command-ended' ? { ...toContinue(job), text: 'To resume it (with --detach: on a worker)' } : undefined,
});

const idsOf = (some: readonly JobEntry[]) => some.map((entry) => entry.staged.job).join(', ');

/** A job by its id, or by its name if that is unique. Throws a `UsageError` that lists the jobs if none or several match. */
export async function findJob(entries: JobEntries, job: string): Promise<JobEntry> {
  return (await findKnownJob(entries, job)) ?? refuseUnknownJob(entries, job);
}

/** Throws a `UsageError` for a job that does not exist; its message lists the existing jobs, if any. */
export async function refuseUnknownJob(entries: JobEntries, job: string): Promise<never> {
  const all = await entries.all();
  throw new UsageError('job-unknown', `There is no job ${job} here${all.length > 0 ? `. Jobs: ${idsOf(all)}` : ''}`);
}

/**
 * A job by its id, by its name if that is unique, or by the id of its workflow; null if there is none. Throws a `UsageError` if several
 * match.
 */
export async function findKnownJob(entries: JobEntries, job: string): Promise<JobEntry | null> {
  // Throws if the entry is damaged. The list of all entries leaves out damaged entries.
  await entries.get(job);
  const all = await entries.all();
  const found = all.filter((entry) => entry.staged.job === job || entry.staged.name === job);
  if (found.length > 1)
    throw new UsageError('name-ambiguous', `${job} matches several jobs: ${idsOf(found)}. Give one of these ids`);
  // Several jobs may have used the same workflow id: the latest job is returned.
  return found[0] ?? all.findLast(({ workflowId }) => workflowId === job) ?? null;
}

/**
 * A job named by `--job` keeps its file and its operation, in all warehouses. Throws `UsageError` if one of `jobs` uses the name for
 * another file or operation.
 */
export function refuseOtherUse(
  staged: Pick<StagedJob, 'name' | 'origin' | 'operation' | 'input' | 'sql' | 'table'>,
  named: boolean,
  jobs: readonly JobEntry[],
): void {
  if (!named) return;
  for (const { named: isNamed, staged: before } of jobs) {
    if (!isNamed || before.name !== staged.name || before.origin !== staged.origin) continue;
    if (before.operation !== staged.operation) {
      throw new UsageError(
        'name-taken',
        `The job ${staged.name} already exists for the operation ${before.operation}. Use another --job name for ${staged.operation}`,
      );
    }
    const isSame = sourceIdentity(before.input) === sourceIdentity(staged.input);
    if (isSame && sourceText(before) === sourceText(staged)) continue;
    if (staged.input === '-') continue;
    throw new UsageError(
      'name-taken',
      isSame
        ? `The job ${staged.name} already exists for ${sourceText(before)}. Use another --job name for ${sourceText(staged)}`
        : `The job ${staged.name} already exists for ${before.input}. Use another --job name for ${staged.input}`,
    );
  }
}

/** The rows of an input, for people. White space in SQL does not count. */
function sourceText({ sql, table, input }: Pick<StagedJob, 'sql' | 'table' | 'input'>): string {
  if (sql !== undefined) return `the SQL "${sqlText(sql)}"`;
  return table === undefined ? `the file ${input}` : `the table ${table}`;
}

/** Changes the entry of a job while no other process does. `change`: returns null to leave the entry as it is. */
async function changeEntry(
  entries: JobEntries,
  job: string,
  workflowId: string,
  change: (entry: JobEntry) => JobEntry | null,
): Promise<void> {
  await entries.claim(workflowId, ({ owned, jobs }) => {
    const entry = jobs.find(({ staged }) => staged.job === job);
    const now = entry === undefined ? null : change(entry);
    return now === null ? { owned } : { owned, entry: { job, now } };
  });
}

/** Records a cancel that has not ended the job yet, for a status without a server. `since`: the time of the cancel in Unix ms. */
export function noteCancel(entries: JobEntries, { staged, workflowId }: JobEntry, since: number): Promise<void> {
  return changeEntry(entries, staged.job, workflowId ?? workflowIdOf(staged.job), (entry) => {
    const { state } = entry;
    // A later state is the end of the job. Of several cancels, the first one counts.
    const isOver = entry.staged.generation !== staged.generation || state.since > since;
    return isOver || state.cancelRequested ? null : { ...entry, state: { ...state, since, cancelRequested: true } };
  });
}

/** Forgets a recorded cancel of an earlier run, because a new run of the job is being started. */
export function forgetCancel(entries: JobEntries, job: string, workflowId: string): Promise<void> {
  return changeEntry(entries, job, workflowId, (entry) =>
    entry.state.cancelRequested ? { ...entry, state: { phase: 'running', since: Date.now() } } : null,
  );
}

/** Most error tags that are kept with the counts of a job. A broken service may send more tags; the counts of such a job are not kept. */
const MOST_TAGS = 100;

/**
 * Records the state of a job, for a status without a worker. `running` replaces only an older state. Does nothing if the rows were staged
 * again in the meantime.
 */
export async function noteState(entries: JobEntries, staged: StagedJob, state: JobState): Promise<void> {
  const found = await entries.get(staged.job);
  if (found === null || (state.phase === 'running' && found.state.phase === 'running')) return;
  await changeEntry(entries, staged.job, found.workflowId ?? workflowIdOf(staged.job), (entry) => {
    if (entry.staged.generation !== staged.generation) return null;
    if (state.phase === 'running' && entry.state.since > state.since) return null;
    const isWhole = state.phase === 'done' && staged.limit === undefined;
    // Only a running job loads rows, so in any other state the last counts are still right.
    const { counts = entry.state.counts, ...noted } = state;
    // A publish records the end of the same run again.
    const { run = entry.state.phase === state.phase ? entry.state.run : undefined } = state;
    const areKept = state.phase !== 'running' && counts && Object.keys(counts.tags).length <= MOST_TAGS;
    return {
      ...entry,
      completed: isWhole ? staged.generation : entry.completed,
      state: { ...noted, counts: areKept ? counts : undefined, run },
    };
  });
}

/** Records the amount that counted before a run of a job. The first record of a run stays. */
export function noteOpened(entries: JobEntries, job: string, opened: NonNullable<JobEntry['opened']>): Promise<void> {
  return changeEntry(entries, job, workflowIdOf(job), (entry) =>
    entry.opened?.run === opened.run ? null : { ...entry, opened },
  );
}

/**
 * The id of a job, such as `brands-3f9a1c`, with the parts that the id is made of: operation, input (or `--job`), warehouse and origin.
 * Throws `UsageError` if the input is standard input and `--job` is missing.
 */
export function identify(
  context: { readonly cwd: string; readonly origin: string; readonly warehouse?: DatabaseAddress | null },
  request: Pick<EnrichCsvInput, 'input' | 'job' | 'into' | 'operation' | 'sql' | 'table'>,
): Pick<StagedJob, 'job' | 'name' | 'input' | 'into'> {
  const { job = null } = request;
  if (request.input === '-' && job === null) {
    throw new UsageError('job-name-missing', 'A job that reads standard input needs a name. Pass --job NAME');
  }
  if (request.sql !== undefined && job === null)
    throw new UsageError(
      'job-name-missing',
      'A job that reads a query needs a name. Pass --job NAME, the same name each time',
    );
  if (job !== null && (foreignScheme(job) !== null || whyNoPath(job, 'linux') !== null))
    throw new UsageError('invalid-argument', 'The name of the job (not shown) is an address. Pass --job NAME');
  const isPath = request.input !== '-' && !isDatabaseSource(request.input) && !isAddress(request.input);
  const input = isPath ? resolve(context.cwd, request.input) : sourceShown(request.input);
  const name =
    job ?? request.table ?? nameOf(input).replace(/(\.(csv|tsv|txt|jsonl|ndjson|json|parquet|pq|duckdb|gz))+$/i, '');
  const into = warehouseOf(context, request.into, join('out', `${safe(name)}.duckdb`), context.cwd);
  // The id of a named job does not depend on its operation, so that another operation under the same name is noticed.
  const [operation, source] =
    job === null
      ? [request.operation ?? DEFAULT_OPERATION, request.table === undefined ? input : `${input} ${request.table}`]
      : [DEFAULT_OPERATION, `job ${name}`];
  const what = canonicalJson([operation, source, warehouseIdentity(into), context.origin]);
  return { job: `${safe(name)}-${sha256(what).slice(0, 6)}`, name, input, into };
}

/** The name of a file or folder; of a pattern such as `data/*.csv` the name of its folder, unless its file name has letters. */
function nameOf(input: string): string {
  const path = isAddress(input) ? pathOfAddress(input) : input;
  const stem = basename(path).replace(/\.[^.]*$/, '');
  return isPattern(stem) && !/\w/.test(stem) ? basename(dirname(path)) : basename(path);
}

/** A name without characters that paths and ids cannot hold. */
function safe(name: string): string {
  return (
    name
      .replace(/[^\w-]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'job'
  );
}
