import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy, type ScheduleSpec } from '@temporalio/client';
import { monitorWorkflows } from '../../core/monitors/monitor-names.js';
import { minutesOf, type QuietHours, type Weekday } from '../../core/monitors/quiet-hours.js';
import type { QuietInput, QuietOutcome } from '../../core/monitors/quiet-input.js';
import { startedByUs } from '../../core/rows/job.js';
import { staticSummary } from '../../core/text/static-summary.js';
import { type RuntimeConfig, UsageError, type WorkflowAccess } from '../config/runtime-types.js';
import {
  cancelRunning,
  deleteSchedule,
  describeSchedule,
  pauseAndCancelSchedule,
  schedulesOf,
} from '../schedules/temporal-schedules.js';
import { WorkflowHandle } from './workflow-handle.js';

const PREFIX = 'searchflow-quiet-';
const edges = ['begin', 'end'] as const;
type Edge = (typeof edges)[number];

/** Catch-up window for missed runs: longer than any quiet hours and any gap between them. */
const CATCH_UP_MS = 8 * 24 * 3_600_000;

/** Temporal's names of the days. */
const dayNames = {
  mon: 'MONDAY',
  tue: 'TUESDAY',
  wed: 'WEDNESDAY',
  thu: 'THURSDAY',
  fri: 'FRIDAY',
  sat: 'SATURDAY',
  sun: 'SUNDAY',
} as const satisfies Record<Weekday, string>;
const order = Object.keys(dayNames) as Weekday[];

/** Quiet hours with their next runs. */
export interface QuietListing {
  readonly input: QuietInput;
  /** Next runs, Unix ms. */
  readonly next: readonly number[];
}

/** Sets and removes quiet hours. Quiet hours have two schedules: one for their beginning, one for their end. */
export class QuietControl {
  readonly #client: Client;
  readonly #config: RuntimeConfig;
  readonly #allow: WorkflowAccess['allow'];

  constructor({ client, config, allow }: Pick<WorkflowAccess, 'client' | 'config' | 'allow'>) {
    this.#allow = allow;
    this.#client = client;
    this.#config = config;
  }

  /**
   * Creates the schedules. Returns a function that starts the first run, because the hours may have begun already. Throws
   * `UsageError` if the name is in use.
   */
  async add(input: QuietInput): Promise<() => Promise<QuietOutcome>> {
    const withOrigin = { ...input, origin: this.#config.origin };
    await this.#allow(withOrigin);
    for (const edge of edges) {
      try {
        await this.#client.schedule.create({
          scheduleId: idOf(input.name, edge),
          spec: specOf(input.hours, edge),
          action: {
            type: 'startWorkflow',
            workflowType: monitorWorkflows.quietMonitors,
            workflowId: idOf(input.name, edge),
            taskQueue: this.#config.taskQueue,
            args: [withOrigin],
            ...staticSummary(`quiet hours ${input.name}`),
          },
          policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP_MS },
          memo: { quiet: withOrigin },
        });
      } catch (error) {
        // The schedule may already exist: an interrupted command may have created one of the two schedules.
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        const there = await this.#inputOf(idOf(input.name, edge));
        if (JSON.stringify(there) !== JSON.stringify(withOrigin)) {
          throw new UsageError(
            'name-taken',
            `Quiet hours named ${input.name} already exist. Remove them first, or use another name (--as NAME)`,
          );
        }
        // An interrupted removal may have paused the schedule.
        await this.#client.schedule.getHandle(idOf(input.name, edge)).unpause();
      }
    }
    return () => this.#runNow(withOrigin);
  }

  /**
   * Ends the schedules and a run in progress. Returns a function that restores the paused monitors. Throws `UsageError` if there are no
   * such quiet hours.
   */
  async remove(name: string): Promise<() => Promise<QuietOutcome>> {
    const input = (await this.#inputOf(idOf(name, 'begin'))) ?? (await this.#inputOf(idOf(name, 'end')));
    if (!input)
      throw new UsageError(
        'quiet-hours-unknown',
        `There are no quiet hours named ${name}. To list them: searchflow monitors quiet list`,
      );
    // A run that is waiting or in progress must not pause monitors that were already restored.
    for (const edge of edges) await pauseAndCancelSchedule(this.#client, idOf(name, edge));
    await cancelRunning(this.#client, runWorkflowId(input));
    // The schedule of the end is deleted last, so that an interrupted removal can be repeated.
    await deleteSchedule(this.#client, idOf(name, 'begin'));
    return async () => {
      const outcome = await this.#runNow({ ...input, restore: true });
      await deleteSchedule(this.#client, idOf(name, 'end'));
      return outcome;
    };
  }

  async list(): Promise<QuietListing[]> {
    const found = new Map<string, QuietListing>();
    for (const about of await schedulesOf(this.#client, PREFIX)) {
      const input = about.memo?.quiet as QuietInput | undefined;
      if (!input) continue;
      const next = about.info.nextActionTimes.slice(0, 1).map((at) => at.getTime());
      found.set(input.name, { input, next: [...(found.get(input.name)?.next ?? []), ...next].sort((a, b) => a - b) });
    }
    return [...found.values()].sort((a, b) => a.input.name.localeCompare(b.input.name));
  }

  async #runNow(input: QuietInput): Promise<QuietOutcome> {
    const workflowId = runWorkflowId(input);
    await this.#client.workflow.start(monitorWorkflows.quietMonitors, {
      workflowId,
      taskQueue: this.#config.taskQueue,
      args: [input],
      ...staticSummary(`quiet hours ${input.name}`),
      memo: startedByUs,
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    return new WorkflowHandle<never, QuietOutcome>(this.#client, workflowId).result();
  }

  async #inputOf(scheduleId: string): Promise<QuietInput | null> {
    const about = await describeSchedule(this.#client, scheduleId);
    return (about?.memo?.quiet as QuietInput | undefined) ?? null;
  }
}

/** Workflow id of the run that the command starts itself. */
function runWorkflowId({ name, restore }: QuietInput): string {
  return `${PREFIX}now-${name}-${restore ? 'restore' : 'turn'}`;
}

function idOf(name: string, edge: Edge): string {
  return `${PREFIX}${name}-${edge}`;
}

/**
 * The timing of the schedule of one edge, the beginning or the end: a run at that time, and a run an hour later. When clocks go forward,
 * Temporal skips a time that does not exist; the second run then comes at the right moment. On all other days the second run has nothing to
 * do.
 */
export function specOf(hours: QuietHours, edge: Edge): ScheduleSpec {
  const begins = minutesOf(hours.from) ?? 0;
  const ends = minutesOf(hours.until) ?? 0;
  const nextDay = hours.untilDay === null && ends <= begins ? 1 : 0;
  const days =
    edge === 'begin'
      ? hours.days
      : hours.untilDay === null
        ? hours.days.map((day) => shifted(day, nextDay))
        : [hours.untilDay];
  const at = (minutes: number) => ({
    hour: Math.floor((minutes % 1440) / 60),
    minute: minutes % 60,
    dayOfWeek: days.map((day) => dayNames[shifted(day, Math.floor(minutes / 1440))]),
  });
  const minutes = edge === 'begin' ? begins : ends;
  return { calendars: [at(minutes), at(minutes + 60)], timezone: hours.tz };
}

function shifted(day: Weekday, by: number): Weekday {
  return order[(order.indexOf(day) + by) % 7] as Weekday;
}
