import { setTimeout as delay } from 'node:timers/promises';
import { type Client, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { stateOfRun } from '../../core/alerts/job-alerts.js';
import { CodedError } from '../../core/errors/coded-error.js';
import type { JobEntry, OwnedWork, Owner } from '../../core/job-entry-schemas.js';
import { monitorWorkflows } from '../../core/monitors/monitor-names.js';
import { pricesAt } from '../../core/purchase/prices.js';
import type { OwnerChange, OwnerFacts, Work } from '../../core/rows/job-entries.js';
import { jobOfWorkflow, workflowIdOf } from '../../core/rows/job-ids.js';
import { signalNames, workflowNames } from '../../core/rows/job-names.js';
import { COMMAND_ENDED, STOPPED } from '../../core/rows/pause.js';
import { dollars } from '../../core/text/money.js';
import { shellWord } from '../../core/text/shell-word.js';
import { Alerts } from '../alerts/alerts.js';
import { rateProfileOf } from '../config/derived-settings.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { noteState } from '../staging/find-job.js';
import type { Store } from '../store/store.js';
import { onQueue } from '../temporal-server/retries-until-close.js';
import { describeWorkflow, isCancelRequested } from './pending-activity.js';
import { noteEndOfJob } from './workflow-handle.js';

/** A command runs its own work; a worker (`worker`, `dev`, the plugin) also takes over the work of dead commands. */
export type Role = 'command' | 'worker';

/**
 * Memo of a workflow that a command started. A workflow without this memo belongs to the workers, even while a command watches the
 * workflow.
 */
export const startedByCommand = { startedBy: 'command' } as const;

/** Interval at which a worker process checks for work whose owner is dead. */
const POLL_MS = 2000;
/** Number of checks that a command lets pass before it stops work of a dead owner: a worker of the store may take the work over first. */
const COMMAND_POLLS = 2;
/** Number of checks after which a worker asks Temporal about the jobs that are not finished. */
const END_POLLS = 15;
/** Time for a workflow to stop: requests in flight land, then it writes its summary. */
const STOP_MS = 15_000;

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
/** Types of long workflows, which belong to the workers if no command owns them. */
const named: readonly string[] = [
  ...bySignal,
  ...byCancel,
  workflowNames.runAgent,
  workflowNames.runResearch,
  workflowNames.syncAgentRuns,
  monitorWorkflows.exportMonitorRuns,
];
const MOST_NAMED = 5;

/** The work that this process owns or watches, and the handling of work whose owner is dead. See `docs/decisions/0019`. */
export class WorkOwners {
  readonly #config: RuntimeConfig;
  readonly #store: Store;
  readonly #client: () => Promise<Client>;
  readonly #mine = new Map<string, Work>();
  /** Cancelled jobs that were reported. */
  readonly #ending = new Set<string>();
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
    const claimed = await entries.claim(work.workflowId, (claim) => {
      const living = (claim.owned?.owners ?? []).filter((owner) => claim.lives(owner));
      const owners = living.some(({ id }) => id === me.id) ? living : [...living, me];
      const owner = owners[0] && owners[0].id !== me.id ? owners[0] : null;
      return { ...decide(claim, owner), owner, owned: { ...work, owners } };
    });
    this.#mine.set(work.workflowId, work);
    return claimed;
  }

  /** Releases running work that a schedule or an SDK started: this process only watches it. */
  async leaveToWorkers({ workflowId }: Pick<Work, 'workflowId'>): Promise<void> {
    const about = await this.#describe(workflowId);
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

  /** The work that this process owns. */
  async owned(): Promise<readonly Work[]> {
    if (this.#mine.size === 0) return [];
    const { id } = this.#store.entries.owner();
    const all = await this.#store.entries.owned();
    return all.filter(({ workflowId, living }) => this.#mine.has(workflowId) && living[0]?.id === id);
  }

  /** The living process that owns the work, which may be this process; null if there is none. */
  async ownerOf({ workflowId }: Pick<Work, 'workflowId'>): Promise<Owner | null> {
    const found = (await this.#store.entries.owned()).find((one) => one.workflowId === workflowId);
    return found?.living[0] ?? null;
  }

  /** Stops the work that this process owns, while its worker is running. Work that has not stopped when `until` resolves is terminated. */
  async stop(why: string, until: Promise<unknown>): Promise<void> {
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

  /**
   * Handles work whose owner is dead, before this process runs any work. A worker takes such work over. A command stops it, except for work
   * that this command watched. A command also reports the running jobs of schedules and SDKs.
   */
  async resolveOrphans(role: Role): Promise<void> {
    for (const orphan of await this.#orphans()) await this.#resolve(orphan, role, null);
    if (role === 'command') await this.#nameOthers();
    else {
      await this.#nameCancelled();
      // If this fails, a later check does the same.
      await this.#noteEnded().catch(() => undefined);
    }
  }

  /** Repeatedly handles work whose owner is dead, while this process runs. */
  watch(role: Role): void {
    this.#watching = this.#watchOrphans(role);
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
      if (isOwn && (await this.#stateOf(workflowId)) !== 'ended') continue;
      if (isOwn) await this.#noteUnstarted(work).catch(() => undefined);
      await this.release(workflowId);
    }
  }

  async #watchOrphans(role: Role): Promise<void> {
    const { signal } = this.#closed;
    const seen = new Map<string, number>();
    for (let poll = 1; !signal.aborted; poll++) {
      await delay(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        if (role === 'worker' && poll % END_POLLS === 0) await this.#noteEnded();
        const orphans = await this.#orphans();
        for (const known of [...seen.keys()])
          if (!orphans.some(({ workflowId }) => workflowId === known)) seen.delete(known);
        for (const orphan of orphans) {
          const times = (seen.get(orphan.workflowId) ?? 0) + 1;
          seen.set(orphan.workflowId, times);
          if (role === 'worker' || this.#mine.has(orphan.workflowId) || times >= COMMAND_POLLS)
            await this.#resolve(orphan, role, delay(STOP_MS, undefined, { ref: false }));
        }
      } catch {
        // If the store or the server cannot be reached, the next check tries again.
      }
    }
  }

  /** Work whose owners are all dead, and work that this process watched and now owns. */
  async #orphans(): Promise<readonly OwnedWork[]> {
    const all = await this.#store.entries.owned();
    const { id } = this.#store.entries.owner();
    return all.filter(
      ({ owners, living }) => living.length === 0 || (living[0]?.id === id && living[0]?.id !== owners[0]?.id),
    );
  }

  /** `until`: null before this process runs its worker, when no workflow could stop by itself. */
  async #resolve(orphan: OwnedWork, role: Role, until: Promise<unknown> | null): Promise<void> {
    const { workflowId, job } = orphan;
    const { entries } = this.#store;
    const me = entries.owner();
    const watched = this.#mine.has(workflowId);
    // One process wins the work. If that process dies before the work ends, the work is orphaned again.
    const { won } = await entries.claim(workflowId, ({ owned, lives }) => {
      const living = (owned?.owners ?? []).filter((owner) => lives(owner));
      const isMine = owned !== null && (living.length === 0 || living[0]?.id === me.id);
      return isMine
        ? { won: true, owned: { ...owned, owners: [me, ...living.filter(({ id }) => id !== me.id)] } }
        : { won: false, owned };
    });
    if (!won) return;
    if (watched || role === 'worker') {
      if (!watched) await this.release(workflowId);
      const state = await this.#stateOf(workflowId);
      if (state === 'cancelled') this.#sayEnding(job);
      else if (state === 'running')
        this.#config.say(`Resuming ${job}, whose command ended${await this.#costText(job, true)}.`);
      else await this.#noteUnstarted(orphan);
      return;
    }
    const run = (await this.#describe(workflowId))?.runId ?? workflowId;
    const stopped = await stopWorkflow(await this.#client(), workflowId, COMMAND_ENDED, until);
    const entry = await entries.get(job);
    if (stopped && entry)
      await noteState(entries, entry.staged, { phase: 'stopped', message: COMMAND_ENDED, since: Date.now() });
    if (!stopped) await this.#noteUnstarted(orphan);
    await this.release(workflowId);
    if (!stopped) return;
    const isKnown = entry !== null || (await entries.walks()).some((walk) => walk.job === job);
    if (isKnown) await this.#noteStopped(job, run, entry);
    const how = isKnown ? `To resume it:\n  searchflow resume ${shellWord(job)}` : 'Its command resumes it.';
    this.#config.say(
      `Stopped ${job}: its command ended${await this.#costText(job, false)}. Paid results are kept. ${how}`,
    );
  }

  /** Reports the end of a job whose command has died: the job itself could not. */
  async #noteStopped(job: string, run: string, entry: JobEntry | null): Promise<void> {
    const { origin } = this.#config;
    const kind = entry === null ? 'walk' : 'rows';
    const fact = stateOfRun({ job, kind, run, origin, scheduled: false }, { phase: 'stopped', since: Date.now() });
    // A job must end even if its alert cannot be sent.
    await new Alerts(this.#config, this.#client).note([fact]).catch(() => undefined);
  }

  /** Reports the jobs whose cancel this worker ends, also after an earlier worker died before it had ended them. */
  async #nameCancelled(): Promise<void> {
    for (const { staged, state, workflowId = workflowIdOf(staged.job) } of await this.#store.entries.all())
      if (state.cancelRequested && (await this.#stateOf(workflowId)) === 'cancelled') this.#sayEnding(staged.job);
  }

  #sayEnding(job: string): void {
    if (this.#ending.has(job)) return;
    this.#ending.add(job);
    this.#config.say(`Ending ${job}, which was cancelled.`);
  }

  /** Records a job as stopped if its command ended before its workflow started: no run will change its state. */
  async #noteUnstarted({ workflowId, job }: Work): Promise<void> {
    const { entries } = this.#store;
    const entry = await entries.get(job);
    if (entry?.state.phase !== 'running') return;
    const about = await this.#describe(workflowId);
    // The workflow is running, or ended after the entry was written. So the workflow was started.
    if (about !== null && (about.closeTime?.getTime() ?? Number.POSITIVE_INFINITY) > entry.state.since) return;
    await noteState(entries, entry.staged, { phase: 'stopped', message: COMMAND_ENDED, since: Date.now() });
  }

  /** Reports and records jobs whose workflow Temporal ended, also before this worker began. A living command records the end of its jobs. */
  async #noteEnded(): Promise<void> {
    const { entries } = this.#store;
    const owned = new Set((await entries.owned()).map(({ job }) => job));
    const parts = { store: this.#store, config: this.#config };
    for (const entry of await entries.unfinished())
      if (!owned.has(entry.staged.job)) await noteEndOfJob(parts, await this.#client(), entry);
  }

  /** The cost of a job so far, and with `rest` that of its remaining rows; '' for other work. */
  async #costText(job: string, rest: boolean): Promise<string> {
    const entry: JobEntry | null = (await this.#store.entries.all()).find(({ staged }) => staged.job === job) ?? null;
    if (entry === null) return '';
    const { staged, asked } = entry;
    const journal = await this.#store.journal();
    const { costMicros } = await journal.totals(`${staged.job}/`);
    const spent = `; it has cost ${dollars(costMicros)}`;
    if (!rest) return spent;
    try {
      const { stages } = this.#store;
      const prices = pricesAt(Date.now(), this.#config.prices);
      const file = (slice: number) => stages.slice(staged, slice);
      // The module is loaded here, because commands such as `status` load this file and rarely need the reader of staged rows.
      const { costOfRest } = await import('../staging/plan.js');
      const left = await costOfRest({ staged, journal, prices, rate: rateProfileOf(this.#config), file });
      const most = typeof asked.maxCostDollars === 'number' ? ` (--max-cost ${asked.maxCostDollars})` : '';
      return `${spent}, about ${dollars(left)} is left${most}`;
    } catch {
      // If the staged rows of the job are on another machine, only the cost so far is known.
      return spent;
    }
  }

  /** Reports running jobs of a schedule or an SDK, which continue while the command does its own work. */
  async #nameOthers(): Promise<void> {
    try {
      const { taskQueue } = this.#config;
      const types = named.map((type) => `'${type}'`).join(', ');
      const query = `${onQueue(taskQueue)} AND ExecutionStatus = 'Running' AND WorkflowType IN (${types})`;
      const owned = new Set((await this.#store.entries.owned()).map(({ workflowId }) => workflowId));
      const found: string[] = [];
      for await (const { workflowId, memo } of (await this.#client()).workflow.list({
        query,
        pageSize: 2 * MOST_NAMED,
      })) {
        // A command's job is left out while it waits for a person: no command owns it any longer, and it does not run.
        if (memo?.startedBy === 'command' && !owned.has(workflowId) && (await this.#waits(workflowId))) continue;
        if (!owned.has(workflowId)) found.push(jobOfWorkflow(workflowId));
        if (found.length > MOST_NAMED) break;
      }
      if (found.length === 0) return;
      const more = found.length > MOST_NAMED ? ' and more' : '';
      this.#config.say(
        `Also running here, for schedules or other clients: ${found.slice(0, MOST_NAMED).join(', ')}${more}.`,
      );
    } catch {
      // If the server cannot list workflows, no names are printed. The names are only information.
    }
  }

  /** `cancelled`: the workflow needs a worker to end. A workflow that cannot be checked counts as running. */
  async #stateOf(workflowId: string): Promise<'running' | 'cancelled' | 'ended'> {
    const about = await this.#describe(workflowId).catch(() => undefined);
    if (about === undefined) return 'running';
    if (about?.status.name !== 'RUNNING') return 'ended';
    return isCancelRequested(about) ? 'cancelled' : 'running';
  }

  /** Whether a workflow waits only for a signal or a timer: no activity, child or task of it is in progress. */
  async #waits(workflowId: string): Promise<boolean> {
    const { raw } = (await this.#describe(workflowId)) ?? {};
    const { pendingActivities, pendingChildren, pendingWorkflowTask } = raw ?? {};
    return !(pendingActivities?.length || pendingChildren?.length || pendingWorkflowTask);
  }

  async #describe(workflowId: string) {
    return describeWorkflow(await this.#client(), workflowId);
  }
}

/**
 * Stops a workflow for its owner, or terminates it if `until` resolves first. False if it had already ended. Paid answers are in the
 * journal in both cases.
 */
async function stopWorkflow(
  client: Client,
  workflowId: string,
  why: string,
  until: Promise<unknown> | null,
): Promise<boolean> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    const { status, type } = await handle.describe();
    if (status.name !== 'RUNNING') return false;
    if (until !== null && (bySignal.includes(type) || byCancel.includes(type))) {
      if (byCancel.includes(type)) await handle.cancel();
      else await handle.signal(signalNames.stop, why);
      const ended = handle.result().then(
        () => true,
        (error: unknown) => error instanceof WorkflowFailedError,
      );
      if (await Promise.race([ended, until.then(() => false)])) return true;
    }
    await handle.terminate(`${STOPPED}${why}`);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
