import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text as readAllOf } from 'node:stream/consumers';
import type { Output } from '../../api/outputs/index.js';
import type { PageEnvelope } from '../../core/events/page.js';
import { next, startWalk } from '../../core/events/walk.js';
import type { Json } from '../../core/text/json.js';
import { shellWord } from '../../core/text/shell-word.js';
import type { CreatedMonitorResult } from '../../core/workflow-result-schemas.js';
import type { MonitorControl } from '../../worker/control/monitor-control.js';
import { readAll, toCount, wrong } from '../flag-values.js';
import { askYesNo } from '../shared/ask.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { withMonitors } from '../shared/with-access.js';
import { printable } from '../text.js';
import { monitorsText, runsText, toFilter } from './monitors.js';

type Fields = { readonly [field: string]: Json };

/**
 * `searchflow monitors create FILE --secret-file F`: creates one monitor. If the answer is lost, the command finds the
 * created monitor and adopts that monitor.
 */
export async function create(context: Context, file: string, flags: Flags<'monitorCreate'>): Promise<ExitCode> {
  const { secretFile } = flags;
  const { definition, mistakes } = readAll({ definition: await readJson(context, file) });
  if (secretFile === undefined)
    mistakes.unshift(
      '--secret-file is required: a file for the webhook secret, which the service returns only once (mode 0600).',
    );
  return withMonitors(context, flags, mistakes, async (control) => {
    const { made, before } = await control.create(definition, secretFile as string, flags.unchecked);
    if (before)
      context.terminal.say('An interrupted command has created this monitor already; nothing was created now.');
    return showCreated(context, control, definition, secretFile as string, made, flags);
  });
}

async function showCreated(
  context: Context,
  control: MonitorControl,
  definition: Fields,
  secretFile: string,
  made: CreatedMonitorResult,
  flags: Flags<'monitorCreate'>,
): Promise<ExitCode> {
  const { terminal, cwd } = context;
  const id = printable(made.monitor.id);
  const output: Output<'createdMonitor'> = { kind: 'monitor', ...made };
  if (flags.json) terminal.data(JSON.stringify(output));
  else terminal.data(id);
  if (made.adopted)
    terminal.say('The answer of the service was lost; the monitor that it created was found and adopted.');
  for (const other of made.others) {
    terminal.say(
      `A lost call created a second monitor. To delete it:\n  searchflow monitors delete ${shellWord(printable(other))}`,
    );
  }
  if (made.secret === 'kept') {
    terminal.say(`Its webhook secret is in ${printable(resolve(cwd, secretFile))} under webhook/${id}.`);
    return exitCodes.ok;
  }
  const where = made.adopted ? 'was in the lost answer' : 'was not in the answer';
  terminal.say(
    `secret missing: the webhook secret of ${id} ${where}, and the service returns it only once. ` +
      'To get one, delete the monitor and create it again, with a new id.',
  );
  if (terminal.asks && (await askYesNo(context, `Delete ${id} and create it again, with a new id?`))) {
    await control.call({ operation: 'deleteMonitor', input: { id: made.monitor.id } });
    const { made: second } = await control.create(definition, secretFile, flags.unchecked);
    return showCreated(context, control, definition, secretFile, second, flags);
  }
  terminal.say(`Run this, and then the same command again:\n  searchflow monitors delete ${shellWord(printable(id))}`);
  return exitCodes.failed;
}

/** `searchflow monitors update ID FILE`. */
export async function update(
  context: Context,
  id: string,
  file: string,
  flags: Flags<'monitorUpdate'>,
): Promise<ExitCode> {
  const { changes, mistakes } = readAll({ changes: await readJson(context, file) });
  return show(context, flags, mistakes, (control) =>
    control.call({ operation: 'updateMonitor', input: { ...changes, id }, unchecked: flags.unchecked }),
  );
}

/** `searchflow monitors get ID`. */
export async function get(context: Context, id: string, flags: Flags<'qps'>): Promise<ExitCode> {
  return show(context, flags, [], (control) => control.call({ operation: 'getMonitor', input: { id } }));
}

/** `searchflow monitors trigger ID`. */
export async function trigger(context: Context, id: string, flags: Flags<'qps'>): Promise<ExitCode> {
  return show(context, flags, [], (control) => control.call({ operation: 'triggerMonitor', input: { id } }));
}

/** `searchflow monitors delete ID`. */
export async function remove(context: Context, id: string, flags: Flags<'monitorDelete'>): Promise<ExitCode> {
  const { terminal } = context;
  const mistakes: string[] = [];
  for (const name of ['name', 'status', 'metadata', 'limit'] as const)
    if (flags[name] !== undefined) mistakes.push(`--${name} is for a filter. Pass an id or a filter, not both.`);
  if (flags.waitForApproval)
    mistakes.push('--wait-for-approval is for a filter. To delete one monitor, pass its id and --yes.');
  if (!flags.yes && !terminal.asks)
    mistakes.push(`Deleting is permanent and ${terminal.cannotAsk}. Pass --yes to confirm.`);
  return withMonitors(context, flags, mistakes, async (control) => {
    if (!flags.yes && !(await askYesNo(context, `Delete ${printable(id)} permanently?`))) {
      terminal.say('Nothing was deleted.');
      return exitCodes.usage;
    }
    await control.call({ operation: 'deleteMonitor', input: { id } });
    const output: Output<'deletedMonitor'> = { kind: 'deleted', id };
    if (flags.json) terminal.data(JSON.stringify(output));
    else terminal.say(`Deleted ${printable(id)}.`);
    return exitCodes.ok;
  });
}

/** `searchflow monitors list`. */
export async function list(context: Context, flags: Flags<'monitorList'>): Promise<ExitCode> {
  const {
    filter,
    most = 100,
    mistakes,
  } = readAll({ filter: () => toFilter(flags) as Fields, most: () => toCount(flags.limit, '--limit', 100_000) });
  return withMonitors(context, flags, mistakes, async (control) => {
    const found = await pages(control, 'listMonitors', filter, most, flags.unchecked);
    context.terminal.data(flags.json ? JSON.stringify(found) : monitorsText(found));
    return exitCodes.ok;
  });
}

/** `searchflow monitors runs ID [RUN]`. */
export async function runs(
  context: Context,
  id: string,
  run: string | undefined,
  flags: Flags<'monitorRuns'>,
): Promise<ExitCode> {
  const { most = 20, mistakes } = readAll({ most: () => toCount(flags.limit, '--limit', 100_000) });
  if (run !== undefined) {
    if (flags.limit !== undefined)
      mistakes.push('--limit is for the list of runs. Pass the id of a run or --limit, not both.');
    return show(context, flags, mistakes, (control) =>
      control.call({ operation: 'getMonitorRun', input: { id, runId: run } }),
    );
  }
  return withMonitors(context, flags, mistakes, async (control) => {
    const found = await pages(control, 'listMonitorRuns', { id }, most);
    context.terminal.data(flags.json ? JSON.stringify(found) : runsText(found));
    return exitCodes.ok;
  });
}

/** Returns up to `most` items of a list. Pages are small, because each page is stored in a workflow history. */
async function pages(
  control: MonitorControl,
  operation: 'listMonitors' | 'listMonitorRuns',
  input: Fields,
  most: number,
  unchecked?: boolean,
): Promise<Fields[]> {
  const found: Fields[] = [];
  let state = startWalk();
  while (!state.done && found.length < most) {
    const limit = Math.min(50, most - found.length);
    const cursor: Fields = state.cursor === null ? {} : { cursor: state.cursor };
    const page = await control.call({ operation, input: { ...input, ...cursor, limit }, unchecked });
    const step = next<Fields>(state, page as PageEnvelope<Fields>);
    found.push(...step.items);
    state = step.state;
  }
  return found;
}

async function show(
  context: Context,
  flags: Flags<'qps'>,
  mistakes: readonly string[],
  call: (control: MonitorControl) => Promise<Json>,
): Promise<ExitCode> {
  return withMonitors(context, flags, mistakes, async (control) => {
    context.terminal.data(JSON.stringify(await call(control), null, 2));
    return exitCodes.ok;
  });
}

/** Reads a file or stdin. Returns a function that returns the JSON object in it, or throws a `UsageError`. */
async function readJson(context: Context, file: string): Promise<() => Fields> {
  let problem = `${file} must contain a JSON object.`;
  let value: unknown = null;
  try {
    const text =
      file === '-'
        ? await readAllOf(context.terminal.streams().stdin)
        : readFileSync(resolve(context.cwd, file), 'utf8');
    value = JSON.parse(text);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    problem = code === 'ENOENT' ? `File ${file} not found.` : `${file}: ${message}`;
  }
  return () => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
    return wrong(problem);
  };
}
