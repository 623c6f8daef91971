import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { workflowNames } from '../../core/rows/job-names.js';
import { catchUpMs, jitterMs, type ScheduleTiming, timingProblems, timingText } from '../../core/schedule-timing.js';
import { count } from '../../core/text/count.js';
import { staticSummary } from '../../core/text/static-summary.js';
import type { ScheduledJobInput, ScheduledWork } from '../../core/workflow-input-schemas.js';
import { type NextRun, UsageError, type WorkflowAccess } from '../config/runtime-types.js';
import { workerOn } from '../temporal-server/pollers.js';
import {
  describeSchedule,
  inputOf,
  queuedOf,
  SCHEDULE_PREFIX,
  type ScheduleView,
  schedulesOf,
  viewOf,
} from './schedule-view.js';

const SHOWN_RUNS = 10;
/** Maximum number of runs of a backfill. A larger number is probably caused by a mistyped year. */
const MOST_BACKFILLED = 1000;
/** Maximum number of pages that are counted; a page lists a thousand start times. */
const COUNTED_PAGES = 100;

export async function schedulesHere(client: Client, taskQueue: string): Promise<readonly ScheduleDescription[]> {
  return (await schedulesOf(client, SCHEDULE_PREFIX)).filter(({ action }) => action.taskQueue === taskQueue);
}

/** Schedules of jobs on the Temporal server. Each run is a workflow `scheduledJob`. */
export class ScheduleControl {
  readonly #access: WorkflowAccess;

  constructor(access: WorkflowAccess) {
    this.#access = access;
  }

  /**
   * Creates a schedule, or updates the existing schedule of that name; a paused schedule stays paused. Throws `UsageError` for an invalid
   * timing, and if another job uses the name.
   */
  async put(
    name: string,
    work: ScheduledWork,
    timing: ScheduleTiming,
  ): Promise<{ readonly view: ScheduleView; readonly made: boolean }> {
    const problems = timingProblems(timing);
    if (problems.length > 0) throw new UsageError('schedule-timing-invalid', problems.join('\n'));
    const { client, config } = this.#access;
    await this.#access.allow(work.input);
    const scheduleId = SCHEDULE_PREFIX + name;
    const input: ScheduledJobInput = { ...work, schedule: name, when: timingText(timing) };
    const options = {
      spec: {
        ...('cron' in timing
          ? { cronExpressions: [timing.cron], timezone: timing.tz }
          : { intervals: [{ every: timing.everyMs }] }),
        jitter: jitterMs(timing),
      },
      action: {
        type: 'startWorkflow' as const,
        workflowType: workflowNames.scheduledJob,
        workflowId: `searchflow-scheduled-${name}`,
        taskQueue: config.taskQueue,
        args: [input],
        ...staticSummary(`${name}: ${work.workflowId}, ${input.when}`),
      },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: catchUpMs(timing) },
    };
    const made = await this.#spelled(timing, async () => {
      try {
        await client.schedule.create({ ...options, scheduleId });
        return true;
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        const there = await describeSchedule(client, scheduleId);
        const other = there && inputOf(there);
        if (other && other.workflowId !== work.workflowId) {
          throw new UsageError(
            'name-taken',
            `The schedule ${name} already exists for ${jobOfWorkflow(other.workflowId)}. Use another name (--schedule-name)`,
          );
        }
        await client.schedule.getHandle(scheduleId).update(({ state }) => ({ ...options, state }));
        return false;
      }
    });
    return { view: await this.show(name), made };
  }

  /** All schedules, sorted by name, each with its last run. */
  async list(): Promise<ScheduleView[]> {
    const { client } = this.#access;
    const [all, worked] = await Promise.all([schedulesOf(client, SCHEDULE_PREFIX), this.worked()]);
    const views = await Promise.all(all.map((about) => viewOf(client, about, 1, worked)));
    return views.filter((view) => view !== null).sort((a, b) => a.name.localeCompare(b.name));
  }

  /** A schedule with its last runs. Throws `UsageError` if there is no schedule of that name, as all methods below do. */
  async show(name: string): Promise<ScheduleView> {
    const { client } = this.#access;
    const [about, worked] = await Promise.all([this.#about(await this.named(name)), this.worked()]);
    const view = await viewOf(client, about, SHOWN_RUNS, worked);
    if (!view) throw unknownSchedule(name);
    return view;
  }

  /**
   * The full name of a schedule, such as `contents-small-0d4790`, from a short form that is unique, such as `contents-small` or `small`.
   * Throws `UsageError` if none or several match.
   */
  async named(name: string): Promise<string> {
    const { client } = this.#access;
    if (await describeSchedule(client, SCHEDULE_PREFIX + name)) return name;
    const found = (await schedulesOf(client, SCHEDULE_PREFIX)).flatMap((about) => inputOf(about)?.schedule ?? []);
    const short = found.filter((one) => `-${one.replace(/-[0-9a-f]{6}$/, '')}`.endsWith(`-${name}`));
    if (short.length > 1)
      throw new UsageError(
        'name-ambiguous',
        `${name} matches several schedules: ${short.join(', ')}. Give one of these names`,
      );
    if (short[0] === undefined) throw unknownSchedule(name);
    return short[0];
  }

  /** Pauses a schedule and returns null. If it is already paused, returns its note and changes nothing. */
  async pause(name: string, note: string): Promise<string | null> {
    const { state } = await this.#about(name);
    if (state.paused) return state.note ?? '';
    await this.#known(name, (handle) => handle.pause(note));
    return null;
  }

  resume(name: string): Promise<void> {
    return this.#known(name, (handle) => handle.unpause());
  }

  /**
   * Runs a schedule now, or after its current run (`goesOn`). Does nothing if runs are `queued` already, because a further run would find
   * no work.
   */
  async trigger(name: string): Promise<{ readonly goesOn: boolean; readonly queued: number }> {
    const about = await this.#about(name);
    const goesOn = about.info.runningActions.length > 0;
    const queued = goesOn ? queuedOf(about) : 0;
    if (queued === 0) await this.#known(name, (handle) => handle.trigger(ScheduleOverlapPolicy.BUFFER_ONE));
    return { goesOn, queued };
  }

  /**
   * Starts a run for each time of the schedule between two moments (Unix ms), one after the other. Returns their number. Throws
   * `UsageError` if there is no such time, or if there are too many.
   */
  async backfill(name: string, from: number, until: number): Promise<number> {
    await this.#about(name);
    let times = 0;
    await this.#known(name, async (handle) => {
      times = await this.#timesBetween(name, from, until);
      if (times === 0) throw new UsageError('schedule-timing-invalid', `The schedule ${name} has no run in that range`);
      if (times > MOST_BACKFILLED) throw new UsageError('schedule-timing-invalid', tooMany(name, times));
      await handle.backfill({
        start: new Date(from),
        end: new Date(until),
        overlap: ScheduleOverlapPolicy.BUFFER_ALL,
      });
    });
    return times;
  }

  /** Number of times in a range, both ends included, as in a backfill. Counting stops at a large number. */
  async #timesBetween(name: string, from: number, until: number): Promise<number> {
    const { client } = this.#access;
    const where = {
      namespace: client.options.namespace,
      scheduleId: SCHEDULE_PREFIX + name,
      endTime: msNumberToTs(until),
    };
    let times = 0;
    // The start is exclusive, so each page starts at the last time of the page before.
    let after: ReturnType<typeof msNumberToTs> | undefined = msNumberToTs(from - 1);
    for (let page = 0; after !== undefined && page < COUNTED_PAGES; page++) {
      const { startTime } = await client.workflowService.listScheduleMatchingTimes({ ...where, startTime: after });
      times += startTime.length;
      after = startTime.at(-1) as typeof after;
    }
    return times;
  }

  remove(name: string): Promise<void> {
    return this.#known(name, (handle) => handle.delete());
  }

  async worked(): Promise<boolean> {
    return (await workerOn(this.#access.client, this.#access.config.taskQueue)) !== null;
  }

  async #about(name: string): Promise<ScheduleDescription> {
    const about = await describeSchedule(this.#access.client, SCHEDULE_PREFIX + name);
    if (!about) throw unknownSchedule(name);
    return about;
  }

  async #known(
    name: string,
    work: (handle: ReturnType<WorkflowAccess['client']['schedule']['getHandle']>) => Promise<unknown>,
  ): Promise<void> {
    try {
      await work(this.#access.client.schedule.getHandle(SCHEDULE_PREFIX + name));
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) throw unknownSchedule(name);
      throw error;
    }
  }

  /** Turns the server's error about a cron expression into a `UsageError`. */
  async #spelled<T>(timing: ScheduleTiming, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // The client throws a TypeError for an argument that the server refuses.
      if (!('cron' in timing) || !(error instanceof TypeError)) throw error;
      throw new UsageError(
        'schedule-timing-invalid',
        `--cron: the Temporal server refused '${timing.cron}': ${error.message}`,
      );
    }
  }
}

function tooMany(name: string, times: number): string {
  const [found, most] = [times, MOST_BACKFILLED].map(count);
  const more = times < COUNTED_PAGES * 1000 ? '' : ' at least';
  return `The schedule ${name} has${more} ${found} runs in that range, and a backfill starts at most ${most}. Give a shorter range with --from and --until`;
}

function unknownSchedule(name: string): UsageError {
  return new UsageError('schedule-unknown', `There is no schedule ${name}. To list them: searchflow schedule list`);
}

/** Longest wait for the schedules of a server. */
const ANSWER_MS = 5000;

/**
 * Returns the next runs of all schedules by the id of the workflow that they start, the earliest first; null if the server does not answer in
 * time.
 */
export async function nextRuns(client: Client): Promise<ReadonlyMap<string, readonly NextRun[]> | null> {
  const runs = new Map<string, NextRun[]>();
  try {
    const all = await client.withDeadline(Date.now() + ANSWER_MS, () => schedulesOf(client, SCHEDULE_PREFIX));
    for (const about of all) {
      const input = inputOf(about);
      if (input === null) continue;
      const isPaused = about.state.paused;
      const at = isPaused ? null : (about.info.nextActionTimes[0]?.getTime() ?? null);
      const next = { schedule: input.schedule, at, isPaused };
      runs.set(input.workflowId, [...(runs.get(input.workflowId) ?? []), next].sort(byTime));
    }
    return runs;
  } catch {
    return null;
  }
}

const byTime = (a: NextRun, b: NextRun): number =>
  (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY) || a.schedule.localeCompare(b.schedule);
