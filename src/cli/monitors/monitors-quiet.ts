import { filterText, takesSome } from '../../core/monitors/monitor-filter.js';
import type { QuietHours } from '../../core/monitors/quiet-hours.js';
import type { QuietOutcome } from '../../core/monitors/quiet-input.js';
import type { QuietListing } from '../../worker/control/quiet-control.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withMonitors } from '../shared/with-monitors.js';
import { count, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { type FilterFlags, toFilter } from './monitor-flags.js';
import { type QuietFlags, toQuietHours } from './quiet-flags.js';

const DEFAULT_NAME = 'quiet';

/** `searchflow monitors quiet --from … --until … --tz …`: creates quiet hours. */
export async function add(
  context: Context,
  flags: FilterFlags & QuietFlags & { readonly as?: string; readonly into?: string; readonly qps?: string },
): Promise<ExitCode> {
  const mistakes: string[] = [];
  const filter = toFilter(flags, mistakes);
  if (!takesSome(filter)) mistakes.push('Pass --name or --metadata. Quiet hours for all monitors are not supported.');
  const hours = toQuietHours(flags, mistakes);
  const name = flags.as ?? DEFAULT_NAME;
  if (!/^[\w-]{1,60}$/.test(name))
    mistakes.push(`--as: '${name}' must consist of letters, digits, dashes and underscores.`);
  return withMonitors(context, flags, mistakes, async (control, _session, config) => {
    const { terminal } = context;
    const wanted = { name, hours: hours as QuietHours, filter, ...control.target(flags.into) };
    const takeTurn = await control.quiet.add(wanted);
    terminal.say(
      `Quiet hours ${name}: ${hoursText(hours as QuietHours)}, monitors with ${printable(filterText(filter))}.`,
    );
    const outcome = await takeTurn();
    if (outcome.did === 'begin') terminal.say(`They have started: ${some(outcome.paused, 'monitor')} paused.`);
    if (config.temporalAddress === null) {
      terminal.say(
        'Its schedules run only while this folder has a Temporal server and a worker. Keep this running:\n  searchflow dev',
      );
    }
    return exitCodes.ok;
  });
}

/** `searchflow monitors quiet list`. */
export async function list(context: Context, flags: { readonly json?: boolean }): Promise<ExitCode> {
  return withMonitors(context, {}, [], async (control) => {
    const all = await control.quiet.list();
    if (flags.json) context.terminal.data(JSON.stringify(all));
    else for (const one of all) context.terminal.data(listingText(one));
    if (all.length === 0) context.terminal.note('No quiet hours.');
    return exitCodes.ok;
  });
}

/** `searchflow monitors quiet remove NAME`. */
export async function remove(context: Context, name: string): Promise<ExitCode> {
  return withMonitors(context, {}, [], async (control) => {
    const putBack = await control.quiet.remove(name);
    context.terminal.say(`Removing quiet hours ${printable(name)} and unpausing the monitors that they paused.`);
    const outcome = await putBack();
    context.terminal.say(`Quiet hours ${printable(name)} removed; ${some(outcome.unpaused, 'monitor')} unpaused.`);
    for (const line of leftLines(outcome)) context.terminal.say(line);
    return exitCodes.ok;
  });
}

function hoursText({ from, until, tz, days, untilDay }: QuietHours): string {
  if (untilDay !== null) return `${days[0]} ${from} to ${untilDay} ${until} (${tz})`;
  return `${days.join(', ')} ${from} to ${until} (${tz})`;
}

function listingText({ input, next }: QuietListing): string {
  const when = next[0] === undefined ? '' : `, next change ${new Date(next[0]).toISOString().replace('.000Z', 'Z')}`;
  return `${printable(input.name)}: ${hoursText(input.hours)}, ${printable(filterText(input.filter))}${when}`;
}

function leftLines({ left, leftCount }: QuietOutcome): string[] {
  return [
    ...left.map(
      ({ id, name, what }) =>
        `Not changed: ${printable(name ?? '(no name)', 60)} (${printable(id)}): ${printable(what)}`,
    ),
    ...(leftCount > left.length ? [`… and ${count(leftCount - left.length)} more (table monitor_quiet_reports)`] : []),
  ];
}
