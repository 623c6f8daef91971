import {
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { jobOfWorkflow, workflowNames } from '../../core/rows/job.js';
import type { ScheduledJobInput, ScheduledWork } from '../../core/schedules/schedule.js';
import {
  catchUpMs,
  jitterMs,
  type ScheduleTiming,
  timingProblems,
  timingText,
} from '../../core/schedules/schedule-timing.js';
import { UsageError, type WorkflowAccess } from '../config/runtime-types.js';
import { workerOn } from '../control/presence.js';
import { deleteSchedule, describeSchedule, schedulesOf } from '../control/schedules.js';
import { inputOf, queuedOf, type ScheduleView, viewOf } from './schedule-view.js';

const PREFIX = 'searchflow-schedule-';
const SHOWN_RUNS = 10;
/** More is rather a mistyped year than meant. */
const MOST_BACKFILLED = 1000;
/** Temporal lists a thousand times an answer. */
const COUNTED_PAGES = 100;

/** Schedules of jobs, on the Temporal server: each run is the workflow `scheduledJob`. */
export class ScheduleControl {
  readonly #access: WorkflowAccess;

  constructor(access: WorkflowAccess) {
    this.#access = access;
  }

  /**
   * Makes the schedule, or brings the one of its name up to date; a paused one stays paused. Throws `UsageError` for a bad timing, and
   * for a name that another job has.
   */
  async put(
    name: string,
    work: ScheduledWork,
    timing: ScheduleTiming,
  ): Promise<{ readonly view: ScheduleView; readonly made: boolean }> {
    const problems = timingProblems(timing);
    if (problems.length > 0) throw new UsageError(problems.join('\n'));
    const { client, config } = this.#access;
    await this.#access.allow(work.input);
    const scheduleId = PREFIX + name;
    const input: ScheduledJobInput = { ...work, schedule: name, when: timingText(timing) };
    const order = {
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
      },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: catchUpMs(timing) },
    };
    const made = await this.#spelled(timing, async () => {
      try {
        await client.schedule.create({ ...order, scheduleId });
        return true;
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        const there = await describeSchedule(client, scheduleId);
        const other = there && inputOf(there);
        if (other && other.workflowId !== work.workflowId) {
          throw new UsageError(
            `There is a schedule ${name} already, of ${jobOfWorkflow(other.workflowId)}; give this one another name with --schedule-name`,
          );
        }
        await client.schedule.getHandle(scheduleId).update(({ state }) => ({ ...order, state }));
        return false;
      }
    });
    return { view: await this.show(name), made };
  }

  /** Those of all jobs, by name, with the last run of each. */
  async list(): Promise<ScheduleView[]> {
    const { client } = this.#access;
    const [all, worked] = await Promise.all([schedulesOf(client, PREFIX), this.worked()]);
    const views = await Promise.all(all.map((about) => viewOf(client, about, 1, worked)));
    return views.filter((view) => view !== null).sort((a, b) => a.name.localeCompare(b.name));
  }

  /** One with its last runs. Throws `UsageError` where there is none of the name, as all below do. */
  async show(name: string): Promise<ScheduleView> {
    const { client } = this.#access;
    const [about, worked] = await Promise.all([this.#about(await this.named(name)), this.worked()]);
    const view = await viewOf(client, about, SHOWN_RUNS, worked);
    if (!view) throw unknownSchedule(name);
    return view;
  }

  /**
   * The whole name of a schedule: `contents-small-0d4790` also by `contents-small` or `small`, where only one is called so. Throws
   * `UsageError` where there is none.
   */
  async named(name: string): Promise<string> {
    const { client } = this.#access;
    if (await describeSchedule(client, PREFIX + name)) return name;
    const found = (await schedulesOf(client, PREFIX)).flatMap((about) => inputOf(about)?.schedule ?? []);
    const short = found.filter((one) => `-${one.replace(/-[0-9a-f]{6}$/, '')}`.endsWith(`-${name}`));
    if (short.length > 1)
      throw new UsageError(`More than one schedule is called ${name}: ${short.join(', ')}. Give one of these`);
    if (short[0] === undefined) throw unknownSchedule(name);
    return short[0];
  }

  /** One that is paused already keeps its reason, which is the answer; else null. */
  async pause(name: string, note: string): Promise<string | null> {
    const { state } = await this.#about(name);
    if (state.paused) return state.note ?? '';
    await this.#known(name, (handle) => handle.pause(note));
    return null;
  }

  resume(name: string): Promise<void> {
    return this.#known(name, (handle) => handle.unpause());
  }

  /** Runs it now, or right after the run that goes on; not where others (`queued`) do so already: one more would find nothing. */
  async trigger(name: string): Promise<{ readonly goesOn: boolean; readonly queued: number }> {
    const about = await this.#about(name);
    const goesOn = about.info.runningActions.length > 0;
    const queued = goesOn ? queuedOf(about) : 0;
    if (queued === 0) await this.#known(name, (handle) => handle.trigger(ScheduleOverlapPolicy.BUFFER_ONE));
    return { goesOn, queued };
  }

  /**
   * Runs it for each of its times between two moments (Unix ms), one after the other: each finds what the one before left. Answers with
   * how many those are; throws a `UsageError` where there is none, or too many.
   */
  async backfill(name: string, from: number, until: number): Promise<number> {
    await this.#about(name);
    let times = 0;
    await this.#known(name, async (handle) => {
      times = await this.#timesBetween(name, from, until);
      if (times === 0)
        throw new UsageError(`The schedule ${name} has no time in that range, so no run was missed in it`);
      if (times > MOST_BACKFILLED) throw new UsageError(tooMany(name, times));
      await handle.backfill({
        start: new Date(from),
        end: new Date(until),
        overlap: ScheduleOverlapPolicy.BUFFER_ALL,
      });
    });
    return times;
  }

  /** Both ends included, as a backfill has them; of very many not all are counted. */
  async #timesBetween(name: string, from: number, until: number): Promise<number> {
    const { client } = this.#access;
    const where = { namespace: client.options.namespace, scheduleId: PREFIX + name, endTime: msNumberToTs(until) };
    let times = 0;
    // The start itself is not listed: so a page begins with the last time of the one before.
    let after: ReturnType<typeof msNumberToTs> | undefined = msNumberToTs(from - 1);
    for (let page = 0; after !== undefined && page < COUNTED_PAGES; page++) {
      const { startTime } = await client.workflowService.listScheduleMatchingTimes({ ...where, startTime: after });
      times += startTime.length;
      after = startTime.at(-1) as typeof after;
    }
    return times;
  }

  /** The run that goes on is not ended by it. */
  async remove(name: string): Promise<void> {
    if (!(await deleteSchedule(this.#access.client, PREFIX + name))) throw unknownSchedule(name);
  }

  /** Whether a worker is there for the runs. */
  async worked(): Promise<boolean> {
    return (await workerOn(this.#access.client, this.#access.config.taskQueue)) !== null;
  }

  async #about(name: string): Promise<ScheduleDescription> {
    const about = await describeSchedule(this.#access.client, PREFIX + name);
    if (!about) throw unknownSchedule(name);
    return about;
  }

  async #known(
    name: string,
    work: (handle: ReturnType<WorkflowAccess['client']['schedule']['getHandle']>) => Promise<unknown>,
  ): Promise<void> {
    try {
      await work(this.#access.client.schedule.getHandle(PREFIX + name));
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) throw unknownSchedule(name);
      throw error;
    }
  }

  /** What the server says of a cron that it can't read is a person's mistake. */
  async #spelled<T>(timing: ScheduleTiming, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // So the client tells of an argument that the server refuses.
      if (!('cron' in timing) || !(error instanceof TypeError)) throw error;
      throw new UsageError(`--cron: the Temporal server can't use '${timing.cron}': ${error.message}`);
    }
  }
}

function tooMany(name: string, times: number): string {
  const [found, most] = [times, MOST_BACKFILLED].map((amount) => amount.toLocaleString('en-US'));
  const more = times < COUNTED_PAGES * 1000 ? '' : ' at least';
  return `The schedule ${name} has${more} ${found} times in that range, and a backfill starts ${most} runs at most: give a shorter stretch with --from and --until`;
}

function unknownSchedule(name: string): UsageError {
  return new UsageError(`There is no schedule ${name}; searchflow schedule list shows what there is`);
}
