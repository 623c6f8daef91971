import type { JobEntry, StagedJob, WalkEntry } from '../../core/job-entry-schemas.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { sourceFieldsOf } from '../../core/rows/source-fields.js';
import {
  type JobListing,
  type JobStatus,
  type KnownJob,
  type NextRun,
  UsageError,
  type WalkStatus,
} from '../config/runtime-types.js';
import { walkName } from '../store/event-status.js';
import { isWorkerless, statusesOf, temporalStatus, workflowOf } from './job-status.js';
import type { RuntimeParts } from './runtime-parts.js';

/** Longest wait for the progress of one walk, whose worker may be busy. */
const PATIENT_MS = 8000;

/** The jobs and walks of a folder, or of its store. All lists are newest first. */
export function jobLists(parts: RuntimeParts) {
  const { config, store } = parts;
  const newestFirst = async () => [...(await store.entries.all())].reverse();
  const walks = async () => [...(await store.entries.walks())].reverse();
  return {
    /** The walks on events, without Temporal. */
    walks,
    statusOfWalk: async (walk: WalkEntry) => (await statusesOf(parts, [walk], PATIENT_MS))[0] as WalkStatus,
    /** The jobs and walks, without Temporal. */
    async known(): Promise<readonly KnownJob[]> {
      return [...(await newestFirst()).map(({ staged }) => knownJob(staged)), ...(await walks()).map(knownWalk)];
    },
    /** The jobs and walks with their status. Asks a running server, but starts none. */
    async list(): Promise<readonly JobListing[]> {
      const entries = await newestFirst();
      const found = await walks();
      const ids = [...entries, ...found].map(workflowOf);
      const [next, statuses, unopened] = await Promise.all([
        nextRuns(parts),
        statusesOf<JobEntry | WalkEntry>(parts, [...entries, ...found]),
        unopenedRuns(parts, new Set(ids)),
      ]);
      const schedules = (workflowId: string | undefined) => next && (next.get(workflowId ?? '') ?? []);
      const none = { rows: null, costMicros: null, startedBy: null };
      return [
        ...unopened.map(({ job, name, phase, since }) => ({
          ...{ job, name, origin: config.origin, phase, since, input: null, into: null, ...none },
          schedules: schedules(job),
        })),
        ...[...entries, ...found].map((of, nth): JobListing => {
          const { phase, since, costMicros = null } = statuses[nth] as JobStatus | WalkStatus;
          if ('stream' in of) return { ...knownWalk(of), ...none, phase, since, schedules: schedules(of.workflowId) };
          const { staged, schedule = null } = of;
          const scheduled = schedulesOfRow(schedule, schedules(ids[nth]), store.shared);
          return { ...knownJob(staged), rows: staged.rows, phase, since, costMicros, ...scheduled };
        }),
      ];
    },
  };
}

/**
 * The next runs of all schedules; null if no server answers. Without a process that works in the folder, the embedded server starts no runs and
 * soon ends. So it is not asked, because to connect would take most of the time of `jobs`.
 */
async function nextRuns(parts: RuntimeParts) {
  if (parts.config.temporalAddress === null && isWorkerless(parts)) return null;
  const connected = await parts.connectIfRunning();
  return connected && (await import('../schedules/schedule-control.js')).nextRuns(connected.client);
}

/** A server that may have runs that no worker has opened yet. The embedded server is used only by the commands of its folder. */
const othersServer = ({ config, connectIfRunning }: RuntimeParts) =>
  config.temporalAddress === null ? null : connectIfRunning();

/** Runs that no worker has opened yet. `known`: the ids of the workflows that folder or store knows. */
async function unopenedRuns(parts: RuntimeParts, known: ReadonlySet<string>): Promise<readonly JobStatus[]> {
  const connected = await othersServer(parts);
  if (connected === null) return [];
  const { taskQueue } = parts.config;
  const { askUnopened, runsOn } = await temporalStatus();
  const others = (await runsOn(connected.client, taskQueue)).filter((workflowId) => !known.has(workflowId));
  const states = await Promise.all(others.map((workflowId) => askUnopened(connected.client, taskQueue, workflowId)));
  return states.filter((state) => state !== null);
}

/** A run that an SDK has started and no worker has opened yet, by the id of its workflow or its job; null if there is no such run. */
export async function unopenedRunOf(parts: RuntimeParts, name: string): Promise<JobStatus | null> {
  const connected = await othersServer(parts);
  if (connected === null) return null;
  const { askUnopened } = await temporalStatus();
  const ids = [name, workflowIdOf(name)];
  const [one, other] = ids.map((workflowId) => askUnopened(connected.client, parts.config.taskQueue, workflowId));
  return (await one) ?? (await other) ?? null;
}

/**
 * The schedules of a row job. The folders of a shared store may have different Temporal servers, so a server that answers and does not have
 * the schedule of the last run need not be the one to ask.
 */
export function schedulesOfRow(
  startedBy: string | null,
  found: readonly NextRun[] | null,
  isShared: boolean,
): Pick<JobListing, 'startedBy' | 'schedules'> {
  const isElsewhere = isShared && startedBy !== null && found?.length === 0;
  return { startedBy, schedules: isElsewhere ? null : found };
}

const knownJob = ({ job, name, origin, into, ...source }: StagedJob): KnownJob => ({
  ...{ job, name, origin, input: source.input, into },
  ...sourceFieldsOf(source),
});

const knownWalk = (walk: WalkEntry): KnownJob => {
  const { job, origin, stream, into } = walk;
  return { job, name: walkName(walk), origin, input: stream, into };
};

/**
 * A walk by its id, its workflow's id, or its short name if that is unique; null if no walk matches. Throws `UsageError` if several match.
 */
export function findWalk(walks: readonly WalkEntry[], name: string): WalkEntry | null {
  const exact = walks.find(({ job, workflowId }) => job === name || workflowId === name);
  if (exact) return exact;
  const named = walks.filter((walk) => walkName(walk) === name);
  if (named.length < 2) return named[0] ?? null;
  const all = named.map(({ job, stream, origin, into }) => `${job} (${stream} of ${origin} into ${into})`);
  throw new UsageError('name-ambiguous', `${name} matches several walks: ${all.join(', ')}. Give one of these ids`);
}
