import type { Client } from '@temporalio/client';
import type { JobEntry, OwnedWork, WalkEntry } from '../../core/job-entry-schemas.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { CANCEL_WAITS } from '../../core/rows/pause.js';
import type { JobStatus, WalkStatus } from '../config/runtime-types.js';
import { saidOfStop } from '../staging/find-job.js';
import { ledgerOfWalks, walkName } from '../store/event-status.js';
import type { RuntimeParts } from './runtime-parts.js';

/** Loaded only to query a server: Temporal's client takes a third of a second to load. */
export const temporalStatus = () => import('../control/temporal-status.js');

/** The records that a status is read from, and what is known of the processes that may work on a job. */
interface Records {
  /** Null: no server can be asked. */
  readonly client: Client | null;
  readonly owned: readonly (OwnedWork & { readonly living: readonly unknown[] })[];
  /** Whether certainly no worker is alive. */
  readonly workerless?: boolean | undefined;
  readonly ledger: ReturnType<typeof ledgerOfWalks>;
  /** What the journal says that a job has bought, in micro-dollars. */
  readonly bought: (job: string) => Promise<number>;
  /** Longest wait for the answer of a worker, in ms. */
  readonly answerMs?: number | undefined;
}

type Job = JobEntry | WalkEntry;
type StatusOf<Of> = Of extends WalkEntry ? WalkStatus : JobStatus;

/** The id of the workflow of a job or a walk. */
export const workflowOf = (of: Job): string => of.workflowId ?? workflowIdOf('staged' in of ? of.staged.job : of.job);

/**
 * Status of a job or a walk: what runs by Temporal, what is bought by the journal, what is loaded by the ledger; see
 * `docs/concepts/three-records.md`. If Temporal does not answer, the state that was recorded last. Takes less than a second.
 */
export async function statusOf<Of extends Job>(of: Of, records: Records): Promise<StatusOf<Of>> {
  const { client, owned: all, workerless = false, answerMs } = records;
  const workflowId = workflowOf(of);
  const owned = all.find((one) => one.workflowId === workflowId);
  const abandoned = owned?.living.length === 0;
  const how = { abandoned, workerless, answerMs };
  const [asked, costMicros] = await Promise.all([
    client && temporalStatus().then(({ askTemporal }) => askTemporal(client, of, workflowId, how)),
    'stream' in of ? undefined : records.bought(of.staged.job),
  ]);
  const none = { message: null, since: null, shown: null };
  if ('stream' in of) {
    const isAnswered = client !== null && asked !== undefined;
    const walk = { ...none, job: of.job, name: walkName(of), isAnswered, ...(asked ?? (await records.ledger(of))) };
    return walk as StatusOf<Of>;
  }
  const { staged, state, completed, schedule } = of;
  const known = { ...none, job: staged.job, name: staged.name, schedule, costMicros };
  const { counts: _counts, run, ...recorded } = state;
  const found = (): Partial<JobStatus> => {
    // The recorded figures are of an earlier run if the last run ended in another way.
    if (asked) return { ...asked, lastRun: asked.phase === state.phase ? run : undefined };
    if (state.cancelRequested)
      return { phase: 'waiting', message: CANCEL_WAITS, since: state.since, cancelRequested: true };
    // A job that no server reports cannot be running, so the state that was recorded last is still true.
    if (state.phase !== 'running') return { ...recorded, lastRun: run };
    if (abandoned) return { phase: 'stopped', ...saidOfStop('command-ended', staged.job), since: state.since };
    if (completed === staged.generation) return { phase: 'done' };
    // A command that lives and whose job no server knows yet is starting the job.
    return { phase: owned ? 'planning' : 'waiting', since: state.since };
  };
  return { ...known, ...found() } as StatusOf<Of>;
}

/** Whether no process can work on the jobs of a folder: only the holder of its lock does. */
export const isWorkerless = ({ store }: Pick<RuntimeParts, 'store'>): boolean =>
  !store.shared && store.holder() === null;

/** The statuses of jobs and walks, in their order. Asks a running server, but starts none. */
export async function statusesOf<Of extends Job>(
  parts: RuntimeParts,
  jobs: readonly Of[],
  answerMs?: number,
): Promise<readonly StatusOf<Of>[]> {
  const { config, store } = parts;
  // The embedded server has no runs that the folder does not know, so a job that was recorded as done is done.
  const isAsked = config.temporalAddress !== null || jobs.some((of) => 'stream' in of || of.state.phase !== 'done');
  const [connected, owned] = await Promise.all([isAsked ? parts.connectIfRunning() : null, store.entries.owned()]);
  const records: Records = {
    ...{ client: connected?.client ?? null, owned, workerless: isWorkerless(parts), answerMs },
    ledger: ledgerOfWalks(config),
    bought: async (job) => (await (await store.journal()).totals(`${job}/`)).costMicros,
  };
  return Promise.all(jobs.map((of) => statusOf(of, records)));
}
