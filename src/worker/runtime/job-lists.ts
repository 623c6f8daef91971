import type { JobEntry, StagedJob, WalkEntry } from '../../core/job-entry-schemas.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { sourceFieldsOf } from '../../core/rows/source-fields.js';
import type { JobListing, JobStatus, KnownJob, NextRun } from '../config/runtime-types.js';
import { walkName } from '../control/find-walk.js';
import { jobStatus, unopenedRun, unopenedRuns, walkState } from '../control/job-status.js';
import { loadedStates, type WalkState } from '../store/event-status.js';
import type { RuntimeParts } from './runtime-parts.js';
import type { JobLists } from './views.js';

/** The jobs and walks of a folder, or of its store. */
export class StoreJobLists implements JobLists {
  readonly #parts: RuntimeParts;

  constructor(parts: RuntimeParts) {
    this.#parts = parts;
  }

  async known(): Promise<readonly KnownJob[]> {
    const rows = [...(await this.#parts.store.entries.all())].reverse();
    return [...rows.map(({ staged }) => knownJob(staged)), ...(await this.#knownWalks())];
  }

  async list(): Promise<readonly JobListing[]> {
    const entries = [...(await this.#parts.store.entries.all())].reverse();
    const found = await this.walks();
    const ids = [
      ...entries.map((entry) => entry.workflowId ?? workflowIdOf(entry.staged.job)),
      ...found.map(({ workflowId }) => workflowId),
    ];
    const [next, statuses, journal, walks, states, unopened] = await Promise.all([
      this.#nextRuns(),
      jobStatuses(this.#parts, entries),
      this.#parts.store.journal(),
      this.#knownWalks(),
      this.#walkStates(found),
      this.#unopenedRuns(new Set(ids)),
    ]);
    const schedules = (workflowId: string | undefined) => next && (next.get(workflowId ?? '') ?? []);
    const rows = entries.map(async ({ staged, schedule: startedBy = null }, nth): Promise<JobListing> => {
      const { phase, since } = statuses[nth] as JobStatus;
      const { costMicros } = await journal.totals(`${staged.job}/`);
      const scheduled = schedulesOfRow(startedBy, schedules(ids[nth]), this.#parts.store.shared);
      return { ...knownJob(staged), rows: staged.rows, phase, since, costMicros, ...scheduled };
    });
    const { origin } = this.#parts.config;
    return [
      ...unopened.map(({ job, name, phase, since }) => ({
        ...{ job, name, origin, phase, since },
        ...{ input: null, into: null, rows: null, costMicros: null, startedBy: null, schedules: schedules(job) },
      })),
      ...(await Promise.all(rows)),
      ...walks.map((walk, nth) => ({
        ...{ ...walk, rows: null, costMicros: null, startedBy: null, ...(states[nth] as WalkState) },
        schedules: schedules(found[nth]?.workflowId),
      })),
    ];
  }

  /**
   * The next runs of all schedules; null if no server answers. Without a process that works in the folder, the embedded server starts no runs and
   * soon ends. So it is not asked, because to connect would take most of the time of `jobs`.
   */
  async #nextRuns() {
    if (this.#parts.config.temporalAddress === null && isWorkerless(this.#parts)) return null;
    const connected = await this.#parts.connectIfRunning();
    return connected && (await import('../schedules/next-runs.js')).nextRuns(connected.client);
  }

  /** Runs that no worker has opened yet. The embedded server is used only by the commands of its folder, which record their jobs. */
  async #unopenedRuns(known: ReadonlySet<string>): Promise<readonly JobStatus[]> {
    if (this.#parts.config.temporalAddress === null) return [];
    const connected = await this.#parts.connectIfRunning();
    return connected === null ? [] : unopenedRuns(connected.client, this.#parts.config.taskQueue, known);
  }

  /** Returns the states of walks: those that Temporal knows, otherwise those in their warehouses. */
  async #walkStates(walks: readonly WalkEntry[]): Promise<readonly WalkState[]> {
    if (walks.length === 0) return [];
    const [connected, owned] = await Promise.all([this.#parts.connectIfRunning(), this.#parts.store.entries.owned()]);
    const asked = await Promise.all(
      walks.map((walk) => {
        const abandoned = owned.find(({ workflowId }) => workflowId === walk.workflowId)?.living.length === 0;
        return connected && walkState(connected.client, walk, abandoned);
      }),
    );
    const silent = walks.filter((_, nth) => asked[nth] === null);
    const loaded = await loadedStates(this.#parts.config, silent);
    return walks.map((walk, nth) => asked[nth] ?? (loaded[silent.indexOf(walk)] as WalkState));
  }

  async #knownWalks(): Promise<readonly KnownJob[]> {
    return (await this.walks()).map((walk) => {
      const { job, origin, stream, into } = walk;
      return { job, name: walkName(walk), origin, input: stream, into };
    });
  }

  async walks() {
    return [...(await this.#parts.store.entries.walks())].reverse();
  }
}

/** Whether no process can work on the jobs of a folder: only the holder of its lock does. */
const isWorkerless = ({ store }: RuntimeParts): boolean => !store.shared && store.holder() === null;

export async function jobStatuses(parts: RuntimeParts, entries: readonly JobEntry[]): Promise<readonly JobStatus[]> {
  // The embedded server has no runs that the folder does not know, so a job that was recorded as done is done.
  const isAsked = parts.config.temporalAddress !== null || entries.some(({ state }) => state.phase !== 'done');
  const [connected, owned] = await Promise.all([
    isAsked ? parts.connectIfRunning() : null,
    parts.store.entries.owned(),
  ]);
  const workerless = isWorkerless(parts);
  const ask = (entry: JobEntry) => {
    const workflowId = entry.workflowId ?? workflowIdOf(entry.staged.job);
    const owners = owned.find((one) => one.workflowId === workflowId) ?? null;
    return jobStatus(entry, workflowId, connected?.client ?? null, owners, workerless);
  };
  return Promise.all(entries.map(ask));
}

/** A run that an SDK has started and no worker has opened yet; null if there is no such run.  */
export async function unopenedRunOf(parts: RuntimeParts, name: string): Promise<JobStatus | null> {
  if (parts.config.temporalAddress === null) return null;
  const connected = await parts.connectIfRunning();
  return connected && unopenedRun(connected.client, parts.config.taskQueue, name);
}

/**
 * The schedules of a row job. The folders of a shared store may have different Temporal servers, so a server that answers and does not have
 * the schedule of the last run need not be the one to ask.
 */
export function schedulesOfRow(
  startedBy: string | null,
  found: readonly NextRun[] | null,
  isShared: boolean,
): Pick<JobListing, 'startedBy' | 'schedules' | 'isScheduledElsewhere'> {
  const isElsewhere = isShared && startedBy !== null && found?.length === 0;
  return isElsewhere ? { startedBy, schedules: null, isScheduledElsewhere: true } : { startedBy, schedules: found };
}

const knownJob = ({ job, name, origin, into, ...source }: StagedJob): KnownJob => ({
  ...{ job, name, origin, input: source.input, into },
  ...sourceFieldsOf(source),
});
