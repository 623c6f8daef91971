import type { Client } from '@temporalio/client';
import type { JobEntry, OwnedWork } from '../../core/job-entry-schemas.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { CANCEL_WAITS, COMMAND_ENDED } from '../../core/rows/pause.js';
import type { JobStatus } from '../config/runtime-types.js';
import type { RuntimeParts } from './runtime-parts.js';

/** Loaded only to query a server: Temporal's client takes a third of a second to load. */
export const temporalStatus = () => import('../control/temporal-status.js');

/** What is known of the processes that may work on a job. */
interface Around {
  /** Null: no server can be asked. */
  readonly client: Client | null;
  /** The command that owns the job; null: the workers have it. */
  readonly owned: (OwnedWork & { readonly living: readonly unknown[] }) | null;
  /** Whether certainly no worker is alive. */
  readonly workerless?: boolean | undefined;
}

/**
 * Status of a job: from its workflow if a worker is alive, else from Temporal, else from the state that was recorded last. Takes less than a
 * second.
 */
export async function statusOf(
  entry: JobEntry,
  { client, owned, workerless = false }: Around,
  workflowId = entry.workflowId ?? workflowIdOf(entry.staged.job),
): Promise<JobStatus> {
  const { staged, state, completed, schedule } = entry;
  const known = { job: staged.job, name: staged.name, message: null, since: null, shown: null, schedule };
  const abandoned = owned?.living.length === 0;
  const reported =
    client && (await (await temporalStatus()).askTemporal(client, entry, workflowId, { abandoned, workerless }));
  const { counts: _counts, run, ...recorded } = state;
  // The recorded figures are of an earlier run if the last run ended in another way.
  if (reported) return { ...known, ...reported, lastRun: reported.phase === state.phase ? run : undefined };
  if (state.cancelRequested)
    return { ...known, phase: 'waiting', message: CANCEL_WAITS, since: state.since, cancelRequested: true };
  // A job that no server reports cannot be running, so the state that was recorded last is still true.
  if (state.phase !== 'running') return { ...known, ...recorded, lastRun: run };
  if (abandoned) return { ...known, phase: 'stopped', message: COMMAND_ENDED, since: state.since };
  if (completed === staged.generation) return { ...known, phase: 'done' };
  // A command that lives and whose job no server knows yet is starting the job.
  return { ...known, phase: owned ? 'planning' : 'waiting', since: state.since };
}

/** Whether no process can work on the jobs of a folder: only the holder of its lock does. */
export const isWorkerless = ({ store }: Pick<RuntimeParts, 'store'>): boolean =>
  !store.shared && store.holder() === null;

/** The statuses of jobs, in their order. Asks a running server, but starts none. */
export async function statusesOf(parts: RuntimeParts, entries: readonly JobEntry[]): Promise<readonly JobStatus[]> {
  // The embedded server has no runs that the folder does not know, so a job that was recorded as done is done.
  const isAsked = parts.config.temporalAddress !== null || entries.some(({ state }) => state.phase !== 'done');
  const [connected, all] = await Promise.all([isAsked ? parts.connectIfRunning() : null, parts.store.entries.owned()]);
  const around = { client: connected?.client ?? null, workerless: isWorkerless(parts) };
  return Promise.all(
    entries.map((entry) => {
      const workflowId = entry.workflowId ?? workflowIdOf(entry.staged.job);
      const owned = all.find((one) => one.workflowId === workflowId) ?? null;
      return statusOf(entry, { ...around, owned }, workflowId);
    }),
  );
}
