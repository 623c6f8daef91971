import type { WalkInput } from '../../core/events/walk-job.js';
import type { RuntimeConfig, WorkflowAccess } from '../../worker/config/runtime-types.js';
import { EventControl, type EventTarget } from '../../worker/control/event-control.js';
import { serviceText } from '../progress/plan.js';
import { SCHEDULED_DETACH, showStarted } from '../progress/started.js';
import { keepSchedule } from '../schedules/keep-schedule.js';
import type { ScheduleFlags } from '../schedules/schedule-flags.js';
import { toScheduleWish } from '../schedules/schedule-wish.js';
import { checkWarehouse } from '../shared/check-connection.js';
import type { Context, ExitCode } from '../shared/context.js';
import { type Session, withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { withAccess } from '../shared/with-access.js';
import { printable } from '../text/printable.js';
import { type EventFlags, type RangeFlags, toRange, toWalkOptions, typesNote } from './event-flags.js';
import { watchWalk } from './watch-walk.js';

/** `searchflow events sync`: loads new events, or schedules such loads with `--every` or `--cron`. */
export async function sync(context: Context, flags: EventFlags & ScheduleFlags): Promise<ExitCode> {
  const mistakes: string[] = [];
  const wish = toScheduleWish(flags, mistakes);
  const input = { kind: 'sync', ...toWalkOptions(flags, mistakes) } as const;
  if (wish !== null && flags.detach) mistakes.push(SCHEDULED_DETACH);
  if (wish === null) return run(context, flags, input, mistakes);
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    noteTypes(context, input);
    if (wish.timing !== 'never') await checkWarehouse(config, flags.into);
    const access = await runtime.workflows();
    const control = new EventControl(access, context.cwd);
    const { job, workflowId, input: walk } = control.work({ ...input, ...control.target(flags.into) });
    const { kind: _, ...scheduled } = walk;
    const work = { workflow: 'syncEvents', workflowId, input: scheduled } as const;
    return keepSchedule(context, access, wish, { name: job, work, data: flags.json ?? false });
  });
}

/** `searchflow events backfill`: loads a range of time. The same command resumes an unfinished range, and reports a finished range. */
export async function backfill(context: Context, flags: EventFlags & RangeFlags): Promise<ExitCode> {
  const mistakes: string[] = [];
  const range = toRange(flags, Date.now(), mistakes);
  return run(context, flags, { kind: 'backfill', ...range, ...toWalkOptions(flags, mistakes) }, mistakes);
}

/**
 * `searchflow events verify`: compares a range of events with the warehouse and repairs differences. Fails if the service no
 * longer returns some events.
 */
export async function verify(
  context: Context,
  flags: EventFlags & RangeFlags & { readonly strict?: boolean },
): Promise<ExitCode> {
  const mistakes: string[] = [];
  const range = toRange(flags, Date.now(), mistakes);
  const { strict = false } = flags;
  const input = { kind: 'backfill', verify: true, ...range, ...toWalkOptions(flags, mistakes) } as const;
  return run(context, flags, input, mistakes, { strict });
}

async function run(
  context: Context,
  flags: EventFlags,
  input: WalkInput,
  mistakes: readonly string[],
  { strict = false }: { readonly strict?: boolean } = {},
): Promise<ExitCode> {
  const { terminal } = context;
  const work = async (access: WorkflowAccess, session: Session, config: RuntimeConfig) => {
    noteTypes(context, input);
    const control = new EventControl(access, context.cwd);
    const walk: WalkInput & EventTarget = { ...input, ...control.target(flags.into) };
    const { json = false, detach = false } = flags;
    if (detach) {
      await session.runtime.work.checkDetached(control.work(walk));
      const { handle } = await control.start(walk, { detached: true });
      return showStarted(context, { job: handle.job, state: 'started' }, json);
    }
    await session.runtime.work.own(control.work(walk));
    const { handle, joined } = await control.start(walk);
    session.working(handle.job);
    const what = joined ? 'resumed' : 'started';
    terminal.note(`${handle.job} ${what}: webset events of ${serviceText(config)} into ${printable(walk.into)}.`);
    return watchWalk(context, session, handle, { json, strict });
  };
  return withAccess(context, flags, mistakes, work, { loads: true, owns: true, detached: flags.detach });
}

function noteTypes({ terminal }: Context, { types }: Pick<WalkInput, 'types'>): void {
  const note = typesNote(types);
  if (note !== null) terminal.note(terminal.colors.yellow(`Note: ${printable(note, 1000)}`));
}
