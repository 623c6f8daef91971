import type { Client } from '@temporalio/client';
import type { JobEntry, OwnedWork, WalkEntry } from '../../core/job-entry-schemas.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { CANCEL_WAITS, COMMAND_ENDED } from '../../core/rows/pause.js';
import type { JobStatus } from '../config/runtime-types.js';

/** Loaded only to query a server: Temporal's client takes a third of a second to load. */
const temporal = () => import('./temporal-status.js');

/**
 * Status of a job: from its workflow if a worker is alive, else from Temporal, else from the state that was recorded last. `client`: null
 * if no server can be asked. `workerless`: certainly no worker is alive. Takes less than a second.
 */
export async function jobStatus(
  entry: JobEntry,
  workflowId: string,
  client: Client | null,
  owned: (OwnedWork & { readonly living: readonly unknown[] }) | null,
  workerless = false,
): Promise<JobStatus> {
  const { staged, state, completed, schedule } = entry;
  const known = {
    ...{ job: staged.job, name: staged.name, message: null, since: null, shown: null },
    schedule,
  };
  const abandoned = owned?.living.length === 0;
  const reported =
    client && (await (await temporal()).askTemporal(client, entry, workflowId, { abandoned, workerless }));
  const { counts: _counts, run, ...recorded } = state;
  // The recorded figures are of an earlier run if the last run ended in another way.
  if (reported) return { ...known, ...reported, lastRun: reported.phase === state.phase ? run : undefined };
  if (state.cancelRequested) return { ...known, phase: 'waiting', message: CANCEL_WAITS, since: state.since };
  // A job that no server reports cannot be running, so the state that was recorded last is still true.
  if (state.phase !== 'running') return { ...known, ...recorded, lastRun: run };
  if (abandoned) return { ...known, phase: 'stopped', message: COMMAND_ENDED, since: state.since };
  if (completed === staged.generation) return { ...known, phase: 'done' };
  // A command that lives and whose job no server knows yet is starting the job.
  return { ...known, phase: owned ? 'planning' : 'waiting', since: state.since };
}

/** Returns the state of a walk as Temporal knows it; null without an answer. `abandoned`: the command that owned the walk has ended. */
export async function walkState(
  client: Client,
  walk: Pick<WalkEntry, 'job' | 'workflowId'>,
  abandoned: boolean,
): Promise<Pick<JobStatus, 'phase' | 'since'> | null> {
  return (await temporal()).askWalk(client, walk, abandoned);
}

/**
 * Returns a run on the task queue that neither folder nor store knows, by the id of its workflow or of its job; null if there is no such
 * run.
 */
export async function unopenedRun(client: Client, taskQueue: string, name: string): Promise<JobStatus | null> {
  const { askUnopened } = await temporal();
  const asked = [name, workflowIdOf(name)].map((workflowId) => askUnopened(client, taskQueue, workflowId));
  return (await asked[0]) ?? (await asked[1]) ?? null;
}

/** Returns all runs on the task queue that neither folder nor store knows; `known`: the ids of the workflows that folder or store knows. */
export async function unopenedRuns(
  client: Client,
  taskQueue: string,
  known: ReadonlySet<string>,
): Promise<readonly JobStatus[]> {
  const { askUnopened, runsOn } = await temporal();
  const others = (await runsOn(client, taskQueue)).filter((workflowId) => !known.has(workflowId));
  const states = await Promise.all(others.map((workflowId) => askUnopened(client, taskQueue, workflowId)));
  return states.filter((state) => state !== null);
}
