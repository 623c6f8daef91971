import { UsageError } from '../../worker/config/runtime-types.js';
import { ScheduleControl } from '../../worker/schedules/schedule-control.js';
import { toMoment } from '../options/moment-option.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { whoami } from '../shared/with-monitors.js';
import { some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { whoRuns } from './keep-schedule.js';
import { moment, queuedRuns, queuedText, scheduleData, schedulesText, scheduleText } from './schedules.js';

const DAY_MS = 86_400_000;

/** Runs a command on schedules, or on the one that was `asked` for: with a server, and without a worker of its own. */
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
export function list(context: Context, flags: { readonly json?: boolean }): Promise<ExitCode> {
  const { terminal } = context;
  return withSchedules(context, null, [], async (control) => {
    const views = await control.list();
    if (flags.json) terminal.data(JSON.stringify(views.map(scheduleData)));
    else for (const line of schedulesText(views)) terminal.data(line);
    if (views.length === 0)
      terminal.say('No schedule yet; --every or --cron makes one, such as: searchflow enrich FILE --every 1d');
  });
}

/** `searchflow schedule show NAME`. */
export function show(context: Context, asked: string, flags: { readonly json?: boolean }): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    const view = await control.show(name);
    context.terminal.data(flags.json ? JSON.stringify(scheduleData(view)) : scheduleText(view));
  });
}

/** `searchflow schedule pause NAME`: none of its times begins a run until it is resumed; what goes on or is queued ends as it would. */
export function pause(context: Context, asked: string, flags: { readonly why?: string }): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    const before = await control.pause(name, flags.why ?? `by ${whoami(context)}, ${moment(Date.now())}`);
    const state = before === null ? 'paused' : `paused already${before === '' ? '' : ` (${printable(before)})`}`;
    context.terminal.say(`${printable(name)} is ${state}; searchflow schedule resume ${printable(name)} goes on.`);
    const queued = queuedText(await control.show(name));
    if (queued !== '') context.terminal.say(`Queued still: ${queued}.`);
  });
}

/** `searchflow schedule resume NAME`. */
export function resume(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name, who) => {
    await control.resume(name);
    const [next] = (await control.show(name)).next;
    context.terminal.say(`${printable(name)} goes on${next === undefined ? '' : `; next ${moment(next)}`}.`);
    context.terminal.say(await who());
  });
}

function triggered({ goesOn, queued }: Awaited<ReturnType<ScheduleControl['trigger']>>): string {
  if (!goesOn) return 'runs now';
  if (queued === 0) return 'goes on with a run already: another one begins right after it';
  if (queued === 1) return 'goes on with a run already, and another one waits for its end: no third is added';
  return `goes on with a run already, and ${queuedRuns(queued)} more wait for its end: none is added`;
}

/** `searchflow schedule trigger NAME`: a run now, or right after the one that goes on. */
export function trigger(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name, who) => {
    const what = triggered(await control.trigger(name));
    context.terminal.say(`${printable(name)} ${what}; searchflow schedule show ${printable(name)} tells how it ends.`);
    context.terminal.say(await who());
  });
}

/** `searchflow schedule delete NAME`: what it bought and loaded stays. */
export function remove(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    await control.remove(name);
    context.terminal.say(
      `${printable(name)} is deleted. What it bought and loaded stays; a run that goes on ends by itself.`,
    );
  });
}

/** `searchflow schedule backfill NAME --from … --until …`: a run for each of its times in between. */
export function backfill(
  context: Context,
  asked: string,
  flags: { readonly from?: string; readonly until?: string },
): Promise<ExitCode> {
  const mistakes: string[] = [];
  const now = Date.now();
  const from = readMoment('--from', flags.from, now, mistakes);
  const end = readMoment('--until', flags.until, now, mistakes, true);
  // A day that is not over yet ends now.
  if (end !== null && end > now + DAY_MS) mistakes.push('--until lies ahead: those runs come by themselves.');
  const until = end && Math.min(end, now);
  if (from !== null && until !== null && from >= until) mistakes.push('--from is not before --until.');
  return withSchedules(context, asked, mistakes, async (control, name, who) => {
    if (from === null || until === null) throw new UsageError('--from and --until are needed.');
    const runs = await control.backfill(name, from, until);
    context.terminal.say(
      `${printable(name)} starts ${some(runs, 'run')}, for each of its times from ${moment(from)} to ${moment(until)}, one after the other; a file is read as it is now.`,
    );
    context.terminal.say(await who());
  });
}

function readMoment(
  flag: string,
  text: string | undefined,
  now: number,
  mistakes: string[],
  end = false,
): number | null {
  if (text === undefined) {
    mistakes.push(`${flag} is needed, such as 2026-11-01 (UTC), or 7d for the day seven days ago.`);
    return null;
  }
  return toMoment(flag, text, now, mistakes, end);
}
