import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy, type ScheduleSpec } from '@temporalio/client';
import { monitorWorkflows } from '../../core/monitors/monitor-names.js';
import { minutesOf, type QuietHours, type Weekday } from '../../core/monitors/quiet-hours.js';
import type { QuietInput, QuietOutcome } from '../../core/monitors/quiet-input.js';
import { startedByUs } from '../../core/rows/job.js';
import { type RuntimeConfig, UsageError, type WorkflowAccess } from '../config/runtime-types.js';
import { cancelRunning, deleteSchedule, describeSchedule, haltSchedule, schedulesOf } from './schedules.js';
import { WorkflowHandle } from './workflow-handle.js';

const PREFIX = 'searchflow-quiet-';
const edges = ['begin', 'end'] as const;
type Edge = (typeof edges)[number];

/** Turns missed while nothing ran are made up for this long, a week and a day: longer than any hours and any gap between them. */
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

/** Quiet hours as they are set. */
export interface QuietListing {
  readonly input: QuietInput;
  /** Next turns, Unix ms. */
  readonly next: readonly number[];
}

/** Quiet hours: two schedules each, one that begins and one that ends them. */
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
   * Makes the schedules. The answer takes a first turn: the hours may have begun, and pausing takes its time. Throws `UsageError` for
   * a name that is taken.
   */
  async add(input: QuietInput): Promise<() => Promise<QuietOutcome>> {
    const meant = { ...input, origin: this.#config.origin };
    await this.#allow(meant);
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
            args: [meant],
          },
          policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP_MS },
          memo: { quiet: meant },
        });
      } catch (error) {
        // The other half of what was begun before, and broken off, is no other quiet hours.
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        const there = await this.#inputOf(idOf(input.name, edge));
        if (JSON.stringify(there) !== JSON.stringify(meant)) {
          throw new UsageError(
            `There are quiet hours called ${input.name} already; remove them first, or give these another --as NAME`,
          );
        }
        // It may stand still since a removal that was broken off.
        await this.#client.schedule.getHandle(idOf(input.name, edge)).unpause();
      }
    }
    return () => this.#turn(meant);
  }

  /**
   * Ends the schedules, and a turn that goes on; the answer puts back what is paused. Throws `UsageError` where there are none.
   */
  async remove(name: string): Promise<() => Promise<QuietOutcome>> {
    const input = (await this.#inputOf(idOf(name, 'begin'))) ?? (await this.#inputOf(idOf(name, 'end')));
    if (!input)
      throw new UsageError(
        `There are no quiet hours called ${name}; searchflow monitors quiet list shows what there is`,
      );
    // A turn that waits for another one, or pauses what it finds, must not come behind the last one.
    for (const edge of edges) await haltSchedule(this.#client, idOf(name, edge));
    await cancelRunning(this.#client, turnId(input));
    // The one that ends goes last: what fails in between can be removed once more.
    await deleteSchedule(this.#client, idOf(name, 'begin'));
    return async () => {
      const outcome = await this.#turn({ ...input, restore: true });
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

  async #turn(input: QuietInput): Promise<QuietOutcome> {
    const workflowId = turnId(input);
    await this.#client.workflow.start(monitorWorkflows.quietMonitors, {
      workflowId,
      taskQueue: this.#config.taskQueue,
      args: [input],
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

/** Id of the turn that the command takes itself. */
function turnId({ name, restore }: QuietInput): string {
  return `${PREFIX}now-${name}-${restore ? 'restore' : 'turn'}`;
}

function idOf(name: string, edge: Edge): string {
  return `${PREFIX}${name}-${edge}`;
}

/**
 * The turns of one edge: at its time, and an hour later. Where the clock is put forward over a time Temporal leaves it out; an
 * hour later is then the moment that it would have been. Otherwise the second turn finds nothing to do.
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
