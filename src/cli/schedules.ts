import type { Output } from '../api/command-outputs.js';
import { parseAddress } from '../core/connections/postgres-address.js';
import { schemaChangesText } from '../core/rows/schema-changes.js';
import { inputText } from '../core/rows/source-fields.js';
import { type ScheduleTiming, timingProblems } from '../core/schedule-timing.js';
import { priceMicros } from '../core/text/money.js';
import type { ScheduledWork } from '../core/workflow-input-schemas.js';
import type { ScheduledRun } from '../core/workflow-result-schemas.js';
import { type RuntimeConfig, UsageError, type WorkflowAccess } from '../worker/config/runtime-types.js';
import { isSameWarehouse, whyUnwritable } from '../worker/config/warehouse-setting.js';
import type { ScheduleControl } from '../worker/schedules/schedule-control.js';
import type { ScheduleView } from '../worker/schedules/schedule-view.js';
import { whyRefused } from '../worker/store/check-database.js';
import { refuse } from './flag-values.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { whoami } from './shared/with-access.js';
import { columns, count, DAY_MS, dollars, factLines, printable, some, toDo } from './text.js';

/** Runs a command on the schedule with the name `asked`, or on all schedules if `asked` is null. Starts no worker. */
async function withSchedules(
  context: Context,
  asked: string | null,
  mistakes: readonly string[],
  work: (control: ScheduleControl, name: string, who: () => Promise<string>) => Promise<void>,
): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}, mistakes), {}, async ({ runtime, config }) => {
    const control = await controlOf(await runtime.workflows());
    const name = asked === null ? '' : await control.named(asked);
    await work(control, name, () => whoRuns(config, control));
  });
}

/** The control of schedules. Loading it takes a fifth of a second, and a run without a schedule does not need it. */
async function controlOf(access: WorkflowAccess): Promise<ScheduleControl> {
  const module = await import('../worker/schedules/schedule-control.js');
  return new module.ScheduleControl(access);
}

export function list(context: Context): Promise<ExitCode> {
  const { terminal } = context;
  return withSchedules(context, null, [], async (control) => {
    const views = await control.list();
    if (views.length > 0 || terminal.json) terminal.print(views.map(scheduleData), schedulesText(views).join('\n'));
    if (views.length === 0)
      terminal.note('No schedules yet. To create one, pass --every or --cron:\n  searchflow enrich FILE --every 1d');
  });
}

export function show(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    const view = await control.show(name);
    context.terminal.print(scheduleData(view), scheduleText(view));
  });
}

export function pause(context: Context, asked: string, flags: Flags<'schedule pause'>): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    const before = await control.pause(name, flags.why ?? `by ${whoami(context)}, ${moment(Date.now())}`);
    const state = before === null ? 'paused' : `already paused${before === '' ? '' : ` (${printable(before)})`}`;
    context.terminal.say(`${printable(name)} is ${state}. ${toDo('To resume it', 'schedule', 'resume', name)}`);
    const queued = queuedText(await control.show(name));
    if (queued !== '') context.terminal.say(`Still queued: ${queued}.`);
  });
}

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

export function trigger(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name, who) => {
    const what = triggered(await control.trigger(name));
    context.terminal.say(`${printable(name)} ${what}. ${toDo('To see the result', 'schedule', 'show', name)}`);
    context.terminal.note(await who());
  });
}

export function remove(context: Context, asked: string): Promise<ExitCode> {
  return withSchedules(context, asked, [], async (control, name) => {
    await control.remove(name);
    context.terminal.say(
      `Schedule ${printable(name)} deleted. Paid and loaded results are kept; a current run finishes.`,
    );
  });
}

export function backfill(context: Context, asked: string, flags: Flags<'schedule backfill'>): Promise<ExitCode> {
  const now = Date.now();
  const { from = 0, until: end = 0 } = flags;
  const mistakes = (['from', 'until'] as const)
    .filter((name) => flags[name] === undefined)
    .map((name) => `--${name} is required: a UTC date (2026-11-01) or an age (7d).`);
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

/** A requested schedule, or `never` to delete the schedule. */
export interface ScheduleWish {
  /** Null: the schedule gets the default name of the job. */
  readonly name: string | null;
  readonly timing: ScheduleTiming | 'never';
}

export function toScheduleWish({
  every,
  cron,
  tz = 'UTC',
  scheduleName,
}: Pick<Flags<'enrich'>, 'every' | 'cron' | 'tz' | 'scheduleName'>): ScheduleWish | null {
  const name = scheduleName ?? null;
  const timing = typeof every === 'number' ? { everyMs: every } : cron === undefined ? null : { cron, tz };
  refuse(
    name !== null &&
      !/^[\w.-]{1,100}$/.test(name) &&
      `--schedule-name: '${name}' must have at most 100 letters, digits, dots, dashes and underscores.`,
    every === undefined &&
      cron === undefined &&
      name !== null &&
      '--schedule-name needs --every or --cron, such as --every 15m or --cron "0 6 * * *".',
    ...(timing ? timingProblems(timing).map((one) => `--${one}.`) : []),
  );
  return every === 'never' ? { name, timing: every } : timing && { name, timing };
}

const SHOWN_TIMES = 3;

/**
 * Creates, changes or deletes the schedule of a job. `name`: the schedule's default name. `isResult`: the schedule is what
 * the command prints with `--json`.
 */
export async function keepSchedule(
  context: Context,
  access: WorkflowAccess,
  wish: ScheduleWish,
  {
    name,
    work,
    isResult = false,
  }: { readonly name: string; readonly work: ScheduledWork; readonly isResult?: boolean },
): Promise<ExitCode> {
  const { terminal } = context;
  const control = await controlOf(access);
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
  const [text, verb] = view.paused ? ['To resume it', 'resume'] : ['To run it now', 'trigger'];
  terminal.say(toDo(text, 'schedule', verb, called));
  terminal.note(await whoRuns(access.config, control));
  if (needsCredentials(context, access.config)) {
    terminal.say(
      'The schedule stores no user or password. Its worker needs them in SEARCHFLOW_WAREHOUSE_URL, SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or .pgpass.',
    );
  }
  const output: Output<'keptSchedule'> = { kind: 'schedule', made, ...scheduleData(view) };
  if (isResult) terminal.result(output);
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
    return `It runs only while this folder has a worker (${now}). ${toDo('Keep this running', 'worker')}`;
  }
  return there
    ? `A worker on task queue ${config.taskQueue} will run it.`
    : `No worker answers on task queue ${config.taskQueue}; the runs of the schedule wait for a worker. ${toDo('To start one', 'worker')}`;
}

/** Returns a time as `2026-11-21T06:00:00Z`. */
export const moment = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

export function runText({ phase, message, summary }: Pick<ScheduledRun, 'phase' | 'message' | 'summary'>): string {
  const why = message === null ? '' : `: ${printable(message)}`;
  if (phase === 'waiting') return 'waiting for a worker';
  if (phase === 'forgotten') return 'ended; its result has expired in Temporal';
  if (summary === null) return `${phase}${why}`;
  if ('warehouse' in summary) {
    const { rows, missing, vanished, schemaChanges } = summary.warehouse;
    const gone = vanished > 0 ? `, ${count(vanished)} vanished` : '';
    const left = missing > 0 ? `, ${count(missing)} to load` : '';
    const changed = schemaChanges ? `, schema changed (${printable(schemaChangesText(schemaChanges))})` : '';
    const { published } = summary;
    const to = published && published.error === null ? `, published to ${printable(published.to)}` : '';
    return `${phase}, ${count(rows)} rows${left}${gone}${changed}${to}, ${dollars(summary.costMicros)}${why}`;
  }
  if ('events' in summary) return `${phase}, ${count(summary.added)} new of ${count(summary.events)} events${why}`;
  if ('effect' in summary)
    return `${phase}, ${count(summary.effect?.affected ?? 0)} of ${count(summary.plan?.planned ?? 0)} monitors ${summary.action === 'pause' ? 'paused' : 'unpaused'}${why}`;
  if ('unfinished' in summary) return `${phase}, ${count(summary.added)} new agent runs${why}`;
  return `${phase}, ${count(summary.added)} new runs of ${count(summary.monitors)} monitors${why}`;
}

export function schedulesText(views: readonly ScheduleView[]): string[] {
  const lines = columns(views.map((view) => [printable(view.name, 60), printable(view.when), nextText(view)]));
  return lines.map((line, index) => {
    const [last] = views[index]?.runs ?? [];
    return `${line}  ${last ? `last ${moment(last.at)}: ${runText(last)}` : 'no runs yet'}`;
  });
}

function nextText({ paused, note, next }: ScheduleView): string {
  if (paused) return note ? `paused (${printable(note, 60)})` : 'paused';
  return next[0] === undefined ? 'no further runs' : `next ${moment(next[0])}`;
}

export function scheduleText(view: ScheduleView): string {
  const { input } = view.work;
  return [
    ...factLines(13, [
      ['Schedule', printable(view.name)],
      ['Runs', `${view.work.workflow}, as ${printable(view.job)}`],
      ['Input', 'input' in input && input.input !== undefined ? printable(inputText(input)) : null],
      ['Warehouse', input.into ? printable(input.into) : null],
      ['Publishes', 'publish' in input && input.publish ? printable(input.publish.to) : null],
      ['Service', input.origin ? printable(input.origin) : null],
      ['When', printable(view.when)],
      ['Next', (view.paused ? nextText(view) : view.next.slice(0, 5).map(moment).join(', ')) || null],
      ['Queued', queuedText(view) || null],
      ['Run cost', costText(view)],
    ]),
    ...(view.runs.length === 0 ? ['No runs yet.'] : ['Last runs:']),
    ...view.runs.map((run) => `  ${moment(run.at)}  ${runText(run)}`),
  ].join('\n');
}

/** Returns a number of queued runs as text. A backfill queues ten runs at a time, so more may follow. */
export const queuedRuns = (queued: number): string => `${queued < 9 ? '' : 'at least '}${count(queued)}`;

/** Returns the queued runs as text; empty if no runs are queued. A pause does not stop queued runs. */
export function queuedText({ queued }: ScheduleView): string {
  if (queued === 0) return '';
  const runs = `${queuedRuns(queued)} ${queued === 1 ? 'run' : 'runs'} of a backfill or trigger`;
  return `${runs} (a pause does not stop them; deleting the schedule does)`;
}

function costText({ work }: ScheduleView): string {
  if (work.workflow !== 'enrichCsv') return 'free';
  const { maxCostDollars } = work.input;
  return typeof maxCostDollars === 'number' ? `at most ${dollars(priceMicros(maxCostDollars))}` : 'no cap';
}

export function scheduleData({ work: { workflow, input }, ...view }: ScheduleView): Output<'schedule'> {
  return { ...view, workflow, input: { ...input } };
}
