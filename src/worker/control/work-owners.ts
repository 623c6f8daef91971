import { setTimeout as delay } from 'node:timers/promises';
import { type Client, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { holdActivities } from '../../activities/base/cancellation.js';
import { stateOfRun, unknownOfRun } from '../../core/alerts/job-alerts.js';
import { CodedError } from '../../core/errors/coded-error.js';
import type { JobEntry, OwnedWork, Owner } from '../../core/job-entry-schemas.js';
import { monitorWorkflows } from '../../core/monitors/monitor-names.js';
import type { OwnerChange, OwnerFacts, Work } from '../../core/rows/job-entries.js';
import { signalNames, workflowNames } from '../../core/rows/job-names.js';
import { nextText } from '../../core/rows/pause.js';
import { dollars } from '../../core/text/money.js';
import { openAlerts } from '../alerts.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { noteState, type StopReason, saidOfStop } from '../staging/find-job.js';
import type { Store } from '../store/store.js';
import { describeWorkflow, isCancelRequested } from './pending-activity.js';
import { noteEndOfJob } from './workflow-handle.js';

/**
 * Memo of a workflow that a command started. A workflow without this memo belongs to the workers, even while a command watches the
 * workflow.
 */
export const startedByCommand = { startedBy: 'command' } as const;

/** Interval at which a process with a worker checks for work whose owner is dead. */
const POLL_MS = 1000;
/** Number of checks after which Temporal is asked about the jobs that are not finished. */
const END_POLLS = 30;
const ENDING_MS = 100;

/**
 * Workflows that stop by a signal. A batch is cancelled instead, so that its audit is written. All other workflows have nothing to finish
 * and are terminated.
 */
const bySignal: readonly string[] = [
  workflowNames.enrichCsv,
  workflowNames.runAgentRows,
  workflowNames.syncEvents,
  workflowNames.backfillEvents,
];
const byCancel: readonly string[] = [monitorWorkflows.batchMonitors];

/** The work that this process owns or watches, and the handling of work whose owner is dead. See `docs/decisions/0019`. */
export class WorkOwners {
  readonly #config: RuntimeConfig;
  readonly #store: Store;
  readonly #client: () => Promise<Client>;
  readonly #mine = new Map<string, Work>();
  readonly #closed = new AbortController();
  #stopped = false;
  #watching: Promise<void> = Promise.resolve();

  constructor(config: RuntimeConfig, store: Store, client: () => Promise<Client>) {
    this.#config = config;
    this.#store = store;
    this.#client = client;
  }

  /**
   * Makes this process the owner of work, or a watcher if a living process owns it. In the same step, `decide` returns the new entry of the
   * job, or throws to refuse.
   */
  async claim<More extends Pick<OwnerChange, 'entry'>>(
    work: Work,
    decide: (claim: OwnerFacts, owner: Owner | null) => More,
  ): Promise<More & { readonly owner: Owner | null }> {
    this.check();
    const { entries, shared } = this.#store;
    // Opening the journal registers this process in the store.
    if (shared) await this.#store.journal();
    const me = entries.owner();
    for (;;) {
      const claimed = await entries.claim(work.workflowId, (claim) => {
        const living = (claim.owned?.owners ?? []).filter((owner) => claim.lives(owner));
        if (claim.owned?.isEnding && living.length > 0) return { owned: claim.owned, isFree: false as const };
        const owners = living.some(({ id }) => id === me.id) ? living : [...living, me];
        const owner = owners[0] && owners[0].id !== me.id ? owners[0] : null;
        return { ...decide(claim, owner), owner, owned: { ...work, owners }, isFree: true as const };
      });
      if (claimed.isFree) {
        this.#mine.set(work.workflowId, work);
        return claimed;
      }
      await delay(ENDING_MS);
    }
  }

  /** Releases running work that a schedule or an SDK started: this process only watches it. */
  async leaveToWorkers({ workflowId }: Pick<Work, 'workflowId'>): Promise<void> {
    const about = await describeWorkflow(await this.#client(), workflowId);
    if (about?.status.name === 'RUNNING' && about.memo?.startedBy !== startedByCommand.startedBy)
      await this.release(workflowId);
  }

  /** Passes work on to its watchers, or else to the workers. */
  async release(workflowId: string): Promise<void> {
    this.#mine.delete(workflowId);
    const { id } = this.#store.entries.owner();
    await this.#store.entries.claim(workflowId, ({ owned }) => {
      const owners = (owned?.owners ?? []).filter((owner) => owner.id !== id);
      return { owned: owned && owners.length > 0 ? { ...owned, owners } : null };
    });
  }

  async owned(): Promise<readonly Work[]> {
    if (this.#mine.size === 0) return [];
    const { id } = this.#store.entries.owner();
    const all = await this.#store.entries.owned();
    return all.filter(({ workflowId, living }) => this.#mine.has(workflowId) && living[0]?.id === id);
  }

  /** The living process that owns the work, which may be this process; null if there is none. */
  async ownerOf({ workflowId }: Pick<Work, 'workflowId'>): Promise<Owner | null> {
    const found = (await this.#store.entries.owned()).find((one) => one.workflowId === workflowId);
    return (!found?.isEnding && found?.living[0]) || null;
  }

  /** Stops the work that this process owns, while its worker is running. Work that has not stopped when `until` resolves is terminated. */
  async stop(why: StopReason, until: Promise<unknown>): Promise<void> {
    this.#stopped = true;
    const client = await this.#client();
    // Work that is being started at this moment stays with this process until it closes.
    for (const { workflowId } of await this.owned())
      if (await stopWorkflow(client, workflowId, why, until)) await this.release(workflowId);
  }

  /** Throws if this process is stopping, because work that it starts would run without an owner. */
  check(): void {
    if (this.#stopped) throw new CodedError('interrupted', 'This command is stopping');
  }

  /** Ends all work whose owner is dead, so that nothing is bought for a command that has ended. */
  async endOrphans(): Promise<void> {
    for (const work of await this.#store.entries.owned())
      if (this.#isOrphan(work, work.living)) await this.#endOrphan(work);
  }

  /** Repeatedly ends work whose owner is dead and records the jobs that Temporal ended, while this process runs. */
  watch(): void {
    this.#watching = this.#watch();
  }

  /**
   * Releases work that has ended or that others own. Running work stays with this process, although the process ends: work must not pass to
   * the workers because its command failed.
   */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#watching;
    const owned = new Set((await this.owned()).map(({ workflowId }) => workflowId));
    for (const work of [...this.#mine.values()]) {
      const { workflowId } = work;
      const isOwn = owned.has(workflowId);
      // A workflow that cannot be checked may be running.
      const asked = isOwn && this.#client().then((client) => describeWorkflow(client, workflowId));
      const about = asked ? await asked.catch(() => undefined) : null;
      if (about === undefined || about?.status.name === 'RUNNING') continue;
      if (isOwn) await this.#noteUnstarted(work, about?.closeTime?.getTime()).catch(() => undefined);
      await this.release(workflowId);
    }
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    for (let poll = 0; !signal.aborted; poll++) {
      try {
        if (poll % END_POLLS === 0) await this.noteEnded();
        await this.endOrphans();
      } catch {
        // If the store or the server cannot be reached, the next check tries again.
      }
      await delay(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Whether this process may end work: its owner is dead, or this process has not finished ending it. */
  #isOrphan({ isEnding }: OwnedWork, living: readonly Owner[]): boolean {
    return living.length === 0 || (isEnding === true && living[0]?.id === this.#store.entries.owner().id);
  }

  /** One process ends an orphan. If that process dies before the work has ended, the work is orphaned again. */
  async #endOrphan(orphan: Work): Promise<void> {
    const { entries } = this.#store;
    const owners = [entries.owner()];
    const { won } = await entries.claim(orphan.workflowId, ({ owned, lives }) =>
      owned !== null && this.#isOrphan(owned, owned.owners.filter(lives))
        ? { won: true, owned: { ...owned, owners, isEnding: true as const } }
        : { won: false, owned },
    );
    if (!won) return;
    // Its activities stop sending at once, also while the server cannot be reached. Those of a cancelled job end its runs at the service.
    const entry = await entries.get(orphan.job);
    const free = entry?.state.cancelRequested ? null : holdActivities(orphan.workflowId);
    const ended = await this.#stopOrphan(orphan, entry);
    await this.release(orphan.workflowId);
    free?.();
    if (ended !== null) await this.#sayStopped(orphan.job, entry, ended);
  }

  /** Terminates the workflow of an orphan and records its job as stopped. Returns the stopped run and its start; null without one. */
  async #stopOrphan(orphan: Work, entry: JobEntry | null) {
    const about = await describeWorkflow(await this.#client(), orphan.workflowId);
    if (about?.status.name !== 'RUNNING') {
      await this.#noteUnstarted(orphan, about?.closeTime?.getTime());
      return null;
    }
    // A cancelled workflow buys nothing, and ends by itself: it cancels its runs at the service first.
    if (isCancelRequested(about)) return null;
    if (!(await stopWorkflow(await this.#client(), orphan.workflowId, 'command-ended'))) return null;
    await this.#noteStopped(entry);
    // A run that was continued as a new one began before this start time.
    return { run: about.runId, since: Math.min(about.startTime.getTime(), entry?.state.since ?? 0) };
  }

  /** Reports the end of work whose command has died: the work itself could not. */
  async #sayStopped(job: string, entry: JobEntry | null, ended: { run: string; since: number }): Promise<void> {
    const { origin, say } = this.#config;
    const isKnown = entry !== null || (await this.#store.entries.walks()).some((walk) => walk.job === job);
    const totals = entry && (await (await this.#store.journal()).totals(`${job}/`));
    if (isKnown) {
      const about = { job, kind: entry ? 'rows' : 'walk', run: ended.run, origin, scheduled: false } as const;
      const stopped = stateOfRun(about, { phase: 'stopped', since: Date.now() });
      const unknown = unknownOfRun(about, totals?.unknown ?? [], ended.since);
      const alerts = openAlerts(this.#config, this.#client);
      // A job must end even if its alerts cannot be sent.
      await alerts.note([stopped, ...unknown]).catch(() => undefined);
    }
    const cost = totals === null ? '' : `; it has cost ${dollars(totals.costMicros)} so far`;
    const { message, next } = saidOfStop('command-ended', job);
    const how = isKnown && next ? nextText(next) : 'Its command resumes it.';
    say(`Stopped ${job}: ${message}${cost}. Paid results are kept. ${how}`);
  }

  /** Records a job as stopped if its command ended before its workflow started. `endedAt`: the end of the job's last run, in Unix ms. */
  async #noteUnstarted({ job }: Work, endedAt = 0): Promise<void> {
    const entry = await this.#store.entries.get(job);
    if (entry?.state.phase === 'running' && endedAt <= entry.state.since) await this.#noteStopped(entry);
  }

  async #noteStopped(entry: JobEntry | null): Promise<void> {
    if (!entry) return;
    const state = { phase: 'stopped', ...saidOfStop('command-ended', entry.staged.job), since: Date.now() } as const;
    await noteState(this.#store.entries, entry.staged, state);
  }

  /** Reports and records jobs whose workflow Temporal ended, also before this process began. A living command records the end of its jobs. */
  async noteEnded(): Promise<void> {
    const { entries } = this.#store;
    const owned = new Set((await entries.owned()).map(({ job }) => job));
    const parts = { store: this.#store, config: this.#config };
    for (const entry of await entries.unfinished())
      if (!owned.has(entry.staged.job)) await noteEndOfJob(parts, await this.#client(), entry);
  }
}

/**
 * Stops a workflow for its owner, or terminates it when `until` resolves; at once without `until`. False if it had already ended. Paid
 * answers are in the journal in both cases.
 */
async function stopWorkflow(client: Client, id: string, why: StopReason, until?: Promise<unknown>): Promise<boolean> {
  const handle = client.workflow.getHandle(id);
  try {
    const { status, type } = await handle.describe();
    if (status.name !== 'RUNNING') return false;
    if (until && (bySignal.includes(type) || byCancel.includes(type))) {
      if (byCancel.includes(type)) await handle.cancel();
      else await handle.signal(signalNames.stop, saidOfStop(why, id).message);
      const ended = handle.result().then(
        () => true,
        (error: unknown) => error instanceof WorkflowFailedError,
      );
      if (await Promise.race([ended, until.then(() => false)])) return true;
    }
    await handle.terminate(why);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
