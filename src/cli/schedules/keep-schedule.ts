import type { ScheduledWork } from '../../core/schedules/schedule.js';
import { parseAddress } from '../../core/text/postgres-address.js';
import { type RuntimeConfig, UsageError, type WorkflowAccess } from '../../worker/config/runtime-types.js';
import { isSameWarehouse } from '../../worker/config/store-setting.js';
import { whyUnwritable } from '../../worker/config/why-unwritable.js';
import { ScheduleControl } from '../../worker/schedules/schedule-control.js';
import { whyRefused } from '../../worker/store/check-database.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { printable } from '../text/printable.js';
import type { ScheduleWish } from './schedule-flags.js';
import { moment, scheduleData } from './schedules.js';

const SHOWN_TIMES = 3;

/** Makes, changes or takes away the schedule of a job, and says so. `name` is the job's own, `data`: also one JSON object. */
export async function keepSchedule(
  context: Context,
  access: WorkflowAccess,
  wish: ScheduleWish,
  { name, work, data = false }: { readonly name: string; readonly work: ScheduledWork; readonly data?: boolean },
): Promise<ExitCode> {
  const { terminal } = context;
  const control = new ScheduleControl(access);
  const called = wish.name ?? name;
  if (wish.timing === 'never') {
    await control.remove(called).then(
      () => terminal.say(`The schedule ${printable(called)} is removed.`),
      (error: unknown) => {
        if (!(error instanceof UsageError)) throw error;
        terminal.say(`There is no schedule ${printable(called)}.`);
      },
    );
    return exitCodes.ok;
  }
  await refuseUnwritable(context, access.config, work.input.into);
  const { view, made } = await control.put(called, work, wish.timing);
  const times = view.next.slice(0, SHOWN_TIMES).map(moment).join(', ');
  const state = view.paused ? '; it is paused (searchflow schedule resume)' : times === '' ? '' : `; next ${times}`;
  terminal.say(`Schedule ${printable(called)} ${made ? 'made' : 'changed'}: ${printable(view.when)}${state}.`);
  terminal.say(`Now: searchflow schedule trigger ${called}. All of them: searchflow schedule list.`);
  terminal.say(await whoRuns(access.config, control));
  if (needsCredentials(context, access.config)) {
    terminal.say(
      'No user or password is in the schedule: whoever runs it needs them in SEARCHFLOW_WAREHOUSE_URL, PGUSER and PGPASSWORD, or .pgpass.',
    );
  }
  if (data) terminal.data(JSON.stringify({ kind: 'schedule', made, ...scheduleData(view) }));
  return exitCodes.ok;
}

/** Each of its runs would fail. Without a password here the database is not asked: whoever runs it may have one. */
async function refuseUnwritable(
  { env }: Context,
  { warehouse, say }: RuntimeConfig,
  into: string | undefined,
): Promise<void> {
  if (into === undefined) return;
  const why = whyUnwritable(into);
  if (why !== null) throw new UsageError(`--into: ${into} can't be written (${why}); no schedule was made.`);
  if (!warehouse || !isSameWarehouse(into, warehouse.shown)) return;
  if (!(parseAddress(warehouse.url.reveal(), '').password || env.PGPASSWORD)) return;
  const refusal = await whyRefused(warehouse, say);
  if (refusal === null) return;
  const wayOut = 'correct its address, user or password in --into or SEARCHFLOW_WAREHOUSE_URL';
  throw new UsageError(`${refusal}; ${wayOut}; no schedule was made.`);
}

/** Whether the warehouse's credentials are known from this command line alone. */
function needsCredentials({ env }: Context, { warehouse }: RuntimeConfig): boolean {
  if (!warehouse || env.SEARCHFLOW_WAREHOUSE_URL) return false;
  const { user, password } = parseAddress(warehouse.url.reveal(), '');
  return user !== null || password !== null;
}

/** A schedule alone does nothing: who is needed, and whether they are there. */
export async function whoRuns(config: RuntimeConfig, control: ScheduleControl): Promise<string> {
  const there = await control.worked();
  if (config.temporalAddress === null) {
    const now = there ? 'one runs now' : 'none runs now';
    return `It runs only while this folder has its server and a worker: keep \`searchflow worker\` running (${now}).`;
  }
  return there
    ? `A worker on the task queue ${config.taskQueue} is there to run it.`
    : `No worker answers on the task queue ${config.taskQueue}: its runs wait until one does (searchflow worker).`;
}
