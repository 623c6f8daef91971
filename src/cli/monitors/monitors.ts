import { chosenText, filterProblem } from '../../core/monitors/monitor-filter.js';
import type { MonitorFilter } from '../../core/workflow-input-schemas.js';
import type { BatchPlan, BatchProgress, BatchSummary, MonitorState } from '../../core/workflow-result-schemas.js';
import { refuse } from '../flag-values.js';
import type { Flags } from '../shared/command.js';
import { columns, count, printable, some } from '../text.js';

/** Returns the filter that the flags describe. */
export function toFilter(flags: Pick<Flags<'monitorList'>, 'name' | 'status' | 'metadata'>): MonitorFilter {
  const { name, status, metadata = [] } = flags;
  const mistakes: string[] = [];
  const pairs = new Map<string, string>();
  for (const text of metadata) {
    const at = text.indexOf('=');
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1) mistakes.push(`--metadata: '${text}' must be key=value.`);
    // A monitor cannot match two values of one key.
    else if (pairs.has(key)) mistakes.push(`--metadata: key '${key}' is given twice.`);
    else pairs.set(key, value);
  }
  const filter = {
    name,
    status,
    // `fromEntries` makes own fields even for names such as `__proto__`.
    metadata: metadata.length === 0 ? undefined : Object.fromEntries(pairs),
  };
  const isNamed = name === undefined || (name !== '' && name.length <= 250);
  const problem = isNamed ? filterProblem(filter, '--') : '--name must have 1 to 250 characters';
  refuse(...mistakes, problem !== null && `${problem}.`);
  return filter;
}

const doing = { pause: 'paused', unpause: 'unpaused', delete: 'deleted' } as const;

/** Returns the indented lines of a table. */
const table = (rows: readonly (readonly string[])[]): string[] => columns(rows).map((line) => `  ${line}`);

/** Returns the plan of a batch as text. */
export function planText(progress: BatchProgress, plan: BatchPlan): string {
  const { action } = progress;
  const what = doing[action];
  const more = plan.planned - plan.examples.length;
  return [
    `${some(plan.planned, 'monitor')} will be ${what} (${printable(chosenText(progress))}):`,
    ...table([['name', 'status', 'id'], ...plan.examples.map(cells)]),
    ...(more > 0 ? [`  and ${count(more)} more`] : []),
    ...(plan.already > 0 ? [`${some(plan.already, 'monitor is', 'monitors are')} already ${what}.`] : []),
    ...(plan.left > 0 && progress.ofSchedule === null
      ? [`${some(plan.left, 'disabled monitor is', 'disabled monitors are')} not changed.`]
      : []),
    ...(plan.left > 0 && progress.ofSchedule !== null
      ? [`${some(plan.left, 'monitor stays', 'monitors stay')} paused: a person or another schedule wants that.`]
      : []),
  ].join('\n');
}

function cells({ name, status, id }: Pick<MonitorState, 'name' | 'status' | 'id'>): string[] {
  return [printable(name ?? '(no name)', 60), printable(status ?? '?'), printable(id)];
}

/** Returns the effect of a batch as text. */
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

/** Returns a table of monitors. */
export function monitorsText(monitors: readonly Readonly<Record<string, unknown>>[]): string {
  return columns([
    ['name', 'status', 'id'],
    ...monitors.map(({ id, name, status }) => cells({ id: textOf(id), name: textOf(name), status: textOf(status) })),
  ]).join('\n');
}

/** Returns a table of a monitor's runs. */
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
