import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text as readAllOf } from 'node:stream/consumers';
import type { Output } from '../api/command-outputs.js';
import type { JsonObject } from '../core/base-schemas.js';
import type { PageEnvelope } from '../core/events/page.js';
import { next, startWalk } from '../core/events/walk.js';
import { chosenText, filterProblem } from '../core/monitors/monitor-filter.js';
import type { MonitorFilter } from '../core/workflow-input-schemas.js';
import type {
  BatchPlan,
  BatchProgress,
  BatchSummary,
  MonitorExport,
  MonitorState,
} from '../core/workflow-result-schemas.js';
import type { FreeCall } from '../worker/control/free-calls.js';
import type { MonitorControl } from '../worker/control/monitor-control.js';
import { readAll, refuse } from './flag-values.js';
import { showStarted } from './progress/plan.js';
import { objectIn } from './request-fields.js';
import { keepSchedule, toScheduleWish } from './schedules.js';
import { askYesNo } from './shared/ask.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import type { Session } from './shared/session.js';
import { withCalls, withMonitors } from './shared/with-access.js';
import { columns, count, lines, printable, some, toDo } from './text.js';

export function toFilter(flags: Pick<Flags<'monitors list'>, 'name' | 'status' | 'metadata'>): MonitorFilter {
  const { name, status, metadata } = flags;
  const filter = { name, status, metadata: metadata ?? undefined };
  const isNamed = name === undefined || (name !== '' && name.length <= 250);
  const problem = isNamed ? filterProblem(filter, '--') : '--name must have 1 to 250 characters';
  refuse(problem !== null && `${problem}.`);
  return filter;
}

const doing = { pause: 'paused', unpause: 'unpaused', delete: 'deleted' } as const;

const table = (rows: readonly (readonly string[])[]): string[] => columns(rows).map((line) => `  ${line}`);

export function planText(progress: BatchProgress, plan: BatchPlan): string {
  const { action } = progress;
  const what = doing[action];
  const more = plan.planned - plan.examples.length;
  return lines(
    `${some(plan.planned, 'monitor')} will be ${what} (${printable(chosenText(progress))}):`,
    table([['name', 'status', 'id'], ...plan.examples.map(cells)]),
    more > 0 && `  and ${count(more)} more`,
    plan.already > 0 && `${some(plan.already, 'monitor is', 'monitors are')} already ${what}.`,
    plan.left > 0 &&
      (progress.ofSchedule === null
        ? `${some(plan.left, 'disabled monitor is', 'disabled monitors are')} not changed.`
        : `${some(plan.left, 'monitor stays', 'monitors stay')} paused: a person or another schedule wants that.`),
  );
}

function cells({ name, status, id }: Pick<MonitorState, 'name' | 'status' | 'id'>): string[] {
  return [printable(name ?? '(no name)', 60), printable(status ?? '?'), printable(id)];
}

export function effectText(summary: BatchSummary): string {
  const { action, effect, phase, calls, lost, decision, into } = summary;
  if (phase === 'rejected') return `Rejected by ${printable(decision?.by ?? 'unknown user')}; nothing was changed.`;
  if (phase === 'expired') return 'Not approved in time; nothing was changed.';
  if (!effect || summary.plan?.planned === 0) return 'No monitor needs this change; nothing was changed.';
  const rows: [string, number][] = [
    [doing[action], effect.affected],
    ['of these also changed by another client', effect.contested],
    [`${doing[action]} although not planned`, effect.unplanned],
    ['changed by another client', effect.others],
    ['not changed although planned', effect.missed],
  ];
  const inCalls = `in ${some(calls, 'call')}${lost > 0 ? `, ${count(lost)} without an answer` : ''}`;
  return [
    `Done ${inCalls}:`,
    ...rows
      .filter(([, monitors], index) => index === 0 || monitors > 0)
      .map(([name, monitors]) => `  ${count(monitors).padStart(9)}  ${name}`),
    ...effect.examples.map(
      ({ name, id, note }) => `  ${printable(name ?? '(no name)', 60)} (${printable(id)}): ${printable(note ?? '')}`,
    ),
    `See table monitor_actions of ${printable(into)} for every monitor.`,
  ].join('\n');
}

export function monitorsText(monitors: readonly Readonly<Record<string, unknown>>[]): string {
  return columns([
    ['name', 'status', 'id'],
    ...monitors.map(({ id, name, status }) => cells({ id: textOf(id), name: textOf(name), status: textOf(status) })),
  ]).join('\n');
}

export function runsText(runs: readonly Readonly<Record<string, unknown>>[]): string {
  return columns([
    ['id', 'status', 'created'],
    ...runs.map(({ id, status, createdAt, failReason }) => [
      printable(textOf(id)),
      printable(failReason ? `${textOf(status)} (${textOf(failReason)})` : textOf(status)),
      printable(textOf(createdAt)),
    ]),
  ]).join('\n');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * `searchflow monitors create FILE --secret-file F`: creates one monitor. If the answer is lost, the command finds the
 * created monitor and adopts that monitor.
 */
export async function create(context: Context, file: string, flags: Flags<'monitors create'>): Promise<ExitCode> {
  const { secretFile } = flags;
  const { definition, mistakes } = readAll({ definition: await readJson(context, 'definition', file) });
  if (secretFile === undefined)
    mistakes.unshift(
      '--secret-file is required: a file for the webhook secret, which the service returns only once (mode 0600).',
    );
  return withMonitors(context, flags, mistakes, async (control, { runtime, stopped }) => {
    const { terminal, cwd } = context;
    const file = secretFile as string;
    for (;;) {
      const { made, before } = await control.create(definition, file, flags.unchecked);
      if (before) terminal.say('An interrupted command has created this monitor already; nothing was created now.');
      const id = printable(made.monitor.id);
      terminal.print<Output<'createdMonitor'>>({ kind: 'monitor', ...made }, id);
      if (made.adopted)
        terminal.say('The answer of the service was lost; the monitor that it created was found and adopted.');
      for (const other of made.others)
        terminal.say(`A lost call created a second monitor. ${toDo('To delete it', 'monitors', 'delete', other)}`);
      if (made.secret === 'kept') {
        terminal.say(`Its webhook secret is in ${printable(resolve(cwd, file))} under webhook/${id}.`);
        return exitCodes.ok;
      }
      const where = made.adopted ? 'was in the lost answer' : 'was not in the answer';
      terminal.say(
        `secret missing: the webhook secret of ${id} ${where}, and the service returns it only once. ` +
          'To get one, delete the monitor and create it again, with a new id.',
      );
      if (!terminal.asks || !(await askYesNo(context, `Delete ${id} and create it again, with a new id?`))) {
        terminal.say(toDo('Run this, and then the same command again', 'monitors', 'delete', id));
        return exitCodes.failed;
      }
      await runtime.calls(stopped, (call) => call('deleteMonitor', { id: made.monitor.id }));
    }
  });
}

export async function update(
  context: Context,
  id: string,
  file: string,
  flags: Flags<'monitors update'>,
): Promise<ExitCode> {
  const { changes, mistakes } = readAll({ changes: await readJson(context, 'changes', file) });
  const { unchecked } = flags;
  return show(context, flags, mistakes, (call) => call('updateMonitor', { ...changes, id }, { unchecked }));
}

export async function get(context: Context, id: string, flags: Flags<'monitors get'>): Promise<ExitCode> {
  return show(context, flags, [], (call) => call('getMonitor', { id }));
}

export async function trigger(context: Context, id: string, flags: Flags<'monitors get'>): Promise<ExitCode> {
  return withMonitors(context, flags, [], async (control) => {
    context.terminal.data(JSON.stringify(await control.trigger(id), null, 2));
  });
}

export async function remove(context: Context, id: string, flags: Flags<'monitors delete'>): Promise<ExitCode> {
  const { terminal } = context;
  const mistakes: string[] = [];
  for (const name of ['name', 'status', 'metadata', 'limit'] as const)
    if (flags[name] !== undefined) mistakes.push(`--${name} is for a filter. Pass an id or a filter, not both.`);
  if (flags.waitForApproval)
    mistakes.push('--wait-for-approval is for a filter. To delete one monitor, pass its id and --yes.');
  if (!flags.yes && !terminal.asks)
    mistakes.push(`Deleting is permanent and ${terminal.cannotAsk}. Pass --yes to confirm.`);
  return withCalls(context, flags, mistakes, async (call) => {
    if (!flags.yes && !(await askYesNo(context, `Delete ${printable(id)} permanently?`))) {
      terminal.say('Nothing was deleted.');
      return exitCodes.usage;
    }
    await call('deleteMonitor', { id });
    terminal.tell<Output<'deletedMonitor'>>({ kind: 'deleted', id }, `Deleted ${printable(id)}.`);
  });
}

export async function list(context: Context, flags: Flags<'monitors list'>): Promise<ExitCode> {
  const { limit: most = 100, unchecked } = flags;
  const { filter, mistakes } = readAll({ filter: () => toFilter(flags) as JsonObject });
  return withCalls(context, flags, mistakes, async (call) => {
    const found = await pages(most, (page) => call('listMonitors', { ...filter, ...page }, { unchecked }));
    context.terminal.pass(found, monitorsText(found));
  });
}

export async function runs(
  context: Context,
  id: string,
  run: string | undefined,
  flags: Flags<'monitors runs'>,
): Promise<ExitCode> {
  const { limit: most = 20 } = flags;
  if (run !== undefined) {
    const mistakes =
      flags.limit === undefined ? [] : ['--limit is for the list of runs. Pass the id of a run or --limit, not both.'];
    return show(context, flags, mistakes, (call) => call('getMonitorRun', { id, runId: run }));
  }
  return withCalls(context, flags, [], async (call) => {
    const found = await pages(most, (page) => call('listMonitorRuns', { id, ...page }));
    context.terminal.pass(found, runsText(found));
  });
}

async function pages<Item>(
  most: number,
  read: (page: { readonly cursor?: string; readonly limit: number }) => Promise<PageEnvelope<Item>>,
): Promise<Item[]> {
  const found: Item[] = [];
  let state = startWalk();
  while (!state.done && found.length < most) {
    const limit = Math.min(50, most - found.length);
    const step = next<Item>(state, await read(state.cursor === null ? { limit } : { cursor: state.cursor, limit }));
    found.push(...step.items);
    state = step.state;
  }
  return found;
}

async function show(
  context: Context,
  flags: Flags<'monitors get'>,
  mistakes: readonly string[],
  read: (call: FreeCall) => Promise<unknown>,
): Promise<ExitCode> {
  return withCalls(context, flags, mistakes, async (call) => {
    context.terminal.data(JSON.stringify(await read(call), null, 2));
  });
}

/** Returns a function that reads the JSON object of an argument: a file, or standard input, whose text is taken now. */
async function readJson({ terminal, cwd }: Context, argument: string, file: string): Promise<() => JsonObject> {
  const piped = file === '-' ? await readAllOf(terminal.streams().stdin) : null;
  return () => objectIn(argument, file, () => piped ?? readFileSync(resolve(cwd, file), 'utf8'));
}

export async function exportRuns(context: Context, flags: Flags<'monitors export'>): Promise<ExitCode> {
  const { filter, wish, mistakes } = readAll({ filter: () => toFilter(flags), wish: () => toScheduleWish(flags) });
  const loads = wish?.timing !== 'never';
  const exports = async (control: MonitorControl, { runtime }: Session) => {
    const input = { filter, unchecked: flags.unchecked, ...control.target(flags.into) };
    if (wish !== null) await keepSchedule(context, await runtime.workflows(), wish, control.exportWork(input));
    if (!loads) return exitCodes.ok;
    const { name, work } = control.exportWork(input);
    const own = { job: name, workflowId: work.workflowId };
    if (flags.detach) {
      await (await runtime.work()).checkDetached(own);
      await control.export(input, { detached: true });
      return showStarted(context, { job: name, state: 'started' });
    }
    await (await runtime.work()).own(own);
    const done = await (await control.export(input)).result();
    context.terminal.tell<Output<'monitorRuns'>>({ kind: 'export', ...done }, exportText(done));
  };
  return withMonitors(context, flags, mistakes, exports, { loads, owns: true, detached: flags.detach });
}

export function exportText({ monitors, added, again, results, into }: MonitorExport): string {
  const reread = again > 0 ? `, ${some(again, 'run')} updated` : '';
  return `${some(monitors, 'monitor')}: ${some(added, 'new run')}${reread}, ${some(results, 'result')}. Written: ${printable(into)}`;
}
