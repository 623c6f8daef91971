import type { BatchPlan, BatchProgress, MonitorState } from '../../core/monitors/monitor-batch.js';
import type { BatchSummary } from '../../core/monitors/monitor-effect.js';
import { filterText } from '../../core/monitors/monitor-filter.js';
import { count, some } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';

const doing = { pause: 'paused', unpause: 'unpaused', delete: 'deleted' } as const;

/** Cells of a table; only the first column is set to the left. */
const table = (rows: readonly (readonly string[])[]): string[] => columns(rows).map((line) => `  ${line}`);

/** What a batch would do, for a person. */
export function planText(progress: BatchProgress, plan: BatchPlan): string {
  const { action, filter } = progress;
  const what = doing[action];
  const more = plan.planned - plan.examples.length;
  return [
    `${some(plan.planned, 'monitor')} to be ${what} (${printable(filterText(filter))}):`,
    ...table([['name', 'status', 'id'], ...plan.examples.map(cells)]),
    ...(more > 0 ? [`  and ${count(more)} more`] : []),
    ...(plan.already > 0 ? [`${some(plan.already, 'monitor is', 'monitors are')} ${what} already.`] : []),
    ...(plan.left > 0 ? [`${some(plan.left, 'monitor stays', 'monitors stay')} as they are (disabled).`] : []),
  ].join('\n');
}

function cells({ name, status, id }: Pick<MonitorState, 'name' | 'status' | 'id'>): string[] {
  return [printable(name ?? '(no name)', 60), printable(status ?? '?'), printable(id)];
}

/** What a batch did, for a person. */
export function effectText(summary: BatchSummary): string {
  const { action, effect, phase, calls, lost, decision, into } = summary;
  if (phase === 'rejected') return `Rejected by ${printable(decision?.by ?? 'somebody')}; nothing was done.`;
  if (phase === 'expired') return 'Nobody approved it in time; nothing was done.';
  if (!effect || summary.plan?.planned === 0) return 'No monitor is to be changed; nothing was done.';
  const rows: [string, number][] = [
    [doing[action], effect.affected],
    ['of these changed by somebody else, too', effect.contested],
    [`${doing[action]} besides, not in the plan`, effect.unplanned],
    ['changed by somebody else', effect.others],
    ['not changed though planned', effect.missed],
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
    `Every monitor is in the table monitor_actions of ${printable(into)}`,
  ].join('\n');
}

/** Monitors, a line each. */
export function monitorsText(monitors: readonly Readonly<Record<string, unknown>>[]): string {
  return columns([
    ['name', 'status', 'id'],
    ...monitors.map(({ id, name, status }) => cells({ id: textOf(id), name: textOf(name), status: textOf(status) })),
  ]).join('\n');
}

/** Runs of a monitor, a line each. */
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
