import type { Output } from '../../api/outputs/index.js';
import { parseAddress } from '../../core/connections/postgres-address.js';
import { type ScheduleTiming, timingProblems } from '../../core/schedule-timing.js';
import { shellWord } from '../../core/text/shell-word.js';
import type { ScheduledWork } from '../../core/workflow-input-schemas.js';
import { type RuntimeConfig, UsageError, type WorkflowAccess } from '../../worker/config/runtime-types.js';
import { isSameWarehouse } from '../../worker/config/store-setting.js';
import { whyUnwritable } from '../../worker/config/why-unwritable.js';
import type { ScheduleControl } from '../../worker/schedules/schedule-control.js';
import { whyRefused } from '../../worker/store/check-database.js';
import { parseDuration, refuse } from '../flag-values.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { printable } from '../text.js';
import { moment, scheduleData } from './schedules.js';

/** A requested schedule, or `never` to delete the schedule. */
export interface ScheduleWish {
  /** Null: the schedule gets the default name of the job. */
  readonly name: string | null;
  readonly timing: ScheduleTiming | 'never';
}

/** Returns the requested schedule, or null if no flag requests one. */
export function toScheduleWish(flags: Flags<'schedule'>): ScheduleWish | null {
  const { every, cron, tz, scheduleName: name } = flags;
  const timing = timingOf(flags);
  const everyMs = timing !== null && timing !== 'never' && 'everyMs' in timing ? timing.everyMs : 0;
  const isKnown = timing !== null && timing !== 'never' && !Number.isNaN(everyMs);
  refuse(
    name !== undefined &&
      !isScheduleName(name) &&
      `--schedule-name: '${name}' must have at most 100 letters, digits, dots, dashes and underscores.`,
    every !== undefined && cron !== undefined && '--every and --cron exclude each other. Pass one of them.',
    tz !== undefined && cron === undefined && '--tz needs --cron.',
    timing === null &&
      name !== undefined &&
      '--schedule-name needs --every or --cron, such as --every 15m or --cron "0 6 * * *".',
    Number.isNaN(everyMs) && `--every: '${every}' must be a duration such as 15m, 6h or 1d, or never.`,
    ...(isKnown ? timingProblems(timing).map((one) => `--${one}.`) : []),
  );
  return timing && { name: name ?? null, timing };
}

function timingOf({ every, cron, tz = 'UTC' }: Flags<'schedule'>): ScheduleWish['timing'] | null {
  if (every === 'never') return every;
  if (every !== undefined) return { everyMs: parseDuration(every) ?? Number.NaN };
  return cron === undefined ? null : { cron, tz };
}

export function isScheduleName(name: string): boolean {
  return /^[\w.-]{1,100}$/.test(name);
}

const SHOWN_TIMES = 3;

/**
 * Creates, changes or deletes the schedule of a job. `name`: the schedule's default name. With `data`, also prints one JSON
 * object.
 */
export async function keepSchedule(
  context: Context,
  access: WorkflowAccess,
  wish: ScheduleWish,
  { name, work, data = false }: { readonly name: string; readonly work: ScheduledWork; readonly data?: boolean },
): Promise<ExitCode> {
  const { terminal } = context;
  // The module is loaded here, because loading takes a fifth of a second, and a run without a schedule does not need the module.
  const { ScheduleControl } = await import('../../worker/schedules/schedule-control.js');
  const control = new ScheduleControl(access);
  const called = wish.name ?? name;
  if (wish.timing === 'never') {
    await control.remove(called).then(
      () => terminal.say(`Schedule ${printable(called)} deleted.`),
      (error: unknown) => {
        if (!(error instanceof UsageError)) throw error;
        terminal.say(`Schedule ${printable(called)} not found.`);
      },
    );
    return exitCodes.ok;
  }
  await refuseUnwritable(context, access.config, work.input.into ?? undefined);
  const { view, made } = await control.put(called, work, wish.timing);
  const times = view.next.slice(0, SHOWN_TIMES).map(moment).join(', ');
  const state = view.paused ? '; it is paused' : times === '' ? '' : `; next ${times}`;
  terminal.say(`Schedule ${printable(called)} ${made ? 'created' : 'changed'}: ${printable(view.when)}${state}.`);
  terminal.say(
    view.paused
      ? `To resume it:\n  searchflow schedule resume ${shellWord(printable(called))}`
      : `To run it now:\n  searchflow schedule trigger ${shellWord(printable(called))}`,
  );
  terminal.note(await whoRuns(access.config, control));
  if (needsCredentials(context, access.config)) {
    terminal.say(
      'The schedule stores no user or password. Its worker needs them in SEARCHFLOW_WAREHOUSE_URL, SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or .pgpass.',
    );
  }
  const output: Output<'keptSchedule'> = { kind: 'schedule', made, ...scheduleData(view) };
  if (data) terminal.data(JSON.stringify(output));
  return exitCodes.ok;
}

/**
 * Throws `UsageError` for a warehouse that cannot be written. A database is checked only if its password is known here, because
 * the worker may have another password.
 */
async function refuseUnwritable(
  { env }: Context,
  { warehouse, say }: RuntimeConfig,
  into: string | undefined,
): Promise<void> {
  if (into === undefined) return;
  const why = await whyUnwritable(into);
  if (why !== null)
    throw new UsageError(
      'warehouse-path-unusable',
      `--into: ${into} cannot be written (${why}). No schedule was created.`,
    );
  if (!warehouse || !isSameWarehouse(into, warehouse.shown)) return;
  if (!(parseAddress(warehouse.url.reveal(), '').password || env.PGPASSWORD)) return;
  const refusal = await whyRefused(warehouse, say);
  if (refusal === null) return;
  const wayOut = 'Correct its address, user or password in --into or SEARCHFLOW_WAREHOUSE_URL.';
  throw new UsageError('postgres-refused', `${refusal}. No schedule was created. ${wayOut}`);
}

/** Returns whether the credentials of the warehouse or of the source are known only to this command line. */
function needsCredentials({ env }: Context, { warehouse, source }: RuntimeConfig): boolean {
  const typed = [
    ...(warehouse && !env.SEARCHFLOW_WAREHOUSE_URL ? [warehouse] : []),
    ...(source && !env.SEARCHFLOW_SOURCE_URL ? [source] : []),
  ];
  return typed.some(({ url }) => {
    const { user, password } = parseAddress(url.reveal(), '');
    return user !== null || password !== null;
  });
}

/** Returns a sentence about the worker that a schedule needs, which also says whether such a worker answers. */
export async function whoRuns(config: RuntimeConfig, control: ScheduleControl): Promise<string> {
  const there = await control.worked();
  if (config.temporalAddress === null) {
    const now = there ? 'one is running now' : 'none is running now';
    return `It runs only while this folder has a worker (${now}). Keep this running:\n  searchflow worker`;
  }
  return there
    ? `A worker on task queue ${config.taskQueue} will run it.`
    : `No worker answers on task queue ${config.taskQueue}; the runs of the schedule wait for a worker. To start one:\n  searchflow worker`;
}
