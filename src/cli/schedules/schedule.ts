import { shellWord } from '../../core/text/shell-word.js';
import { ScheduleControl } from '../../worker/schedules/schedule-control.js';
import { readAll, toMoment, wrong } from '../flag-values.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { whoami } from '../shared/with-access.js';
import { printable, some } from '../text.js';
import { whoRuns } from './keep-schedule.js';
import { moment, queuedRuns, queuedText, scheduleData, schedulesText, scheduleText } from './schedules.js';

const DAY_MS = 86_400_000;

/** Runs a command on the schedule with the name `asked`, or on all schedules if `asked` is null. Starts no worker. */
async function withSchedules(
  context: Context,
  asked: string | null,
  mistakes: readonly string[],
  work: (control: ScheduleControl, name: string, who: () => Promise<string>) => Promise<void>,
): Promise<ExitCode> {
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const control = new ScheduleControl(await runtime.workflows());
    const name = asked === null ? '' : await control.named(asked);
    await work(control, name, () => whoRuns(config, control));
    return exitCodes.ok;
  });
}

/** `searchflow schedule list`. */
export function list(context: Context, flags: Flags<'json'>): Promise<ExitCode> {
  const { terminal } = context;
  return withSchedules(context, null, [], async (control) => {
    const views = await control.list();
    if (flags.json) terminal.data(JSON.stringify(views.map(scheduleData)));
    else for (const line of schedulesText(views)) terminal.data(line);
    if (views.length === 0)
      terminal.note('No schedules yet. To create one, pass --every or --cron:\n  searchflow enrich FILE --every 1d');
  });
}

/** `searchflow schedule show NAME`. */
export function show(context: Context, asked: string, flags: Flags<'json'>): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    const view = await control.show(name);
    context.terminal.data(flags.json ? JSON.stringify(scheduleData(view)) : scheduleText(view));
  });
}

/** `searchflow schedule pause NAME`: stops starting runs until resumed. Current and queued runs still execute. */
export function pause(context: Context, asked: string, flags: Flags<'schedulePause'>): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    const before = await control.pause(name, flags.why ?? `by ${whoami(context)}, ${moment(Date.now())}`);
    const state = before === null ? 'paused' : `already paused${before === '' ? '' : ` (${printable(before)})`}`;
    context.terminal.say(
      `${printable(name)} is ${state}. To resume it:\n  searchflow schedule resume ${shellWord(printable(name))}`,
    );
    const queued = queuedText(await control.show(name));
    if (queued !== '') context.terminal.say(`Still queued: ${queued}.`);
  });
}

/** `searchflow schedule resume NAME`. */
export function resume(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name, who) => {
    await control.resume(name);
    const [next] = (await control.show(name)).next;
    context.terminal.say(`${printable(name)} is resumed${next === undefined ? '' : `; next ${moment(next)}`}.`);
    context.terminal.note(await who());
  });
}

function triggered({ goesOn, queued }: Awaited<ReturnType<ScheduleControl['trigger']>>): string {
  if (!goesOn) return 'is starting a run now';
  if (queued === 0) return 'is running; another run starts right after it';
  if (queued === 1) return 'is running, and another run is queued already; no run was added';
  return `is running, and ${queuedRuns(queued)} more runs are queued already; no run was added`;
}

/** `searchflow schedule trigger NAME`: starts a run now, or right after the current run. */
export function trigger(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name, who) => {
    const what = triggered(await control.trigger(name));
    context.terminal.say(
      `${printable(name)} ${what}. To see the result:\n  searchflow schedule show ${shellWord(printable(name))}`,
    );
    context.terminal.note(await who());
  });
}

/** `searchflow schedule delete NAME`: deletes a schedule. Paid and loaded results are kept. */
export function remove(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    await control.remove(name);
    context.terminal.say(
      `Schedule ${printable(name)} deleted. Paid and loaded results are kept; a current run finishes.`,
    );
  });
}

/** `searchflow schedule backfill NAME --from … --until …`: starts a run for each scheduled time of the range. */
export function backfill(context: Context, asked: string, flags: Flags<'scheduleBackfill'>): Promise<ExitCode> {
  const now = Date.now();
  const { from, end, mistakes } = readAll({
    from: () => readMoment('--from', flags.from, now),
    end: () => readMoment('--until', flags.until, now, true),
  });
  // The range may include the current day, up to now.
  if (end > now + DAY_MS) mistakes.push('--until is in the future; the schedule starts those runs itself.');
  const until = Math.min(end, now);
  if (from && end && from >= until) mistakes.push('--from must be before --until.');
  return withSchedules(context, asked, mistakes, async (control, name, who) => {
    const runs = await control.backfill(name, from, until);
    context.terminal.say(
      `${printable(name)} is starting ${some(runs, 'run')}, one for each scheduled time from ${moment(from)} to ${moment(until)}, one after the other. All of them read the current file.`,
    );
    context.terminal.note(await who());
  });
}

function readMoment(flag: string, text: string | undefined, now: number, end = false): number {
  return toMoment(flag, text ?? wrong(`${flag} is required: a UTC date (2026-11-01) or an age (7d).`), now, end);
}
