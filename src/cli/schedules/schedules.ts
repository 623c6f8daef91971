import type { ScheduledRun } from '../../core/schedules/schedule.js';
import type { ScheduleView } from '../../worker/schedules/schedule-view.js';
import { count, dollars } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';

/** A moment as `2026-11-21T06:00:00Z`. */
export const moment = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

/** What a run brought, in a few words. */
export function runText({ phase, message, summary }: Pick<ScheduledRun, 'phase' | 'message' | 'summary'>): string {
  const why = message === null ? '' : `: ${printable(message)}`;
  if (phase === 'waiting') return 'waiting for a worker';
  if (phase === 'forgotten') return 'ended; Temporal keeps its result no longer';
  if (summary === null) return `${phase}${why}`;
  if ('warehouse' in summary) {
    const { rows, missing, vanished } = summary.warehouse;
    const gone = vanished > 0 ? `, ${count(vanished)} vanished` : '';
    const left = missing > 0 ? `, ${count(missing)} to load` : '';
    return `${phase}, ${count(rows)} rows${left}${gone}, ${dollars(summary.costMicros)}${why}`;
  }
  if ('events' in summary) return `${phase}, ${count(summary.added)} new of ${count(summary.events)} events${why}`;
  return `${phase}, ${count(summary.added)} new runs of ${count(summary.monitors)} monitors${why}`;
}

/** A line for each schedule, in columns. */
export function schedulesText(views: readonly ScheduleView[]): string[] {
  const lines = columns(views.map((view) => [printable(view.name, 60), printable(view.when), nextText(view)]));
  return lines.map((line, index) => {
    const [last] = views[index]?.runs ?? [];
    return `${line}  ${last ? `last ${moment(last.at)}: ${runText(last)}` : 'no run yet'}`;
  });
}

function nextText({ paused, note, next }: ScheduleView): string {
  if (paused) return note ? `paused (${printable(note, 60)})` : 'paused';
  return next[0] === undefined ? 'no time to come' : `next ${moment(next[0])}`;
}

/** A schedule with its last runs. */
export function scheduleText(view: ScheduleView): string {
  const { input } = view.work;
  const lines: [string, string][] = [
    ['Schedule', printable(view.name)],
    ['Runs', `${view.work.workflow}, as ${printable(view.job)}`],
    ...('input' in input && input.input !== undefined ? [['File', printable(input.input)] as [string, string]] : []),
    ['Warehouse', printable(input.into ?? '')],
    ['Service', printable(input.origin ?? '')],
    ['When', printable(view.when)],
    ['Next', view.paused ? nextText(view) : view.next.slice(0, 5).map(moment).join(', ')],
    ['Queued', queuedText(view)],
    ['A run costs', costText(view)],
  ];
  return [
    ...lines.filter(([, value]) => value !== '').map(([name, value]) => `${`${name}:`.padEnd(13)}${value}`),
    ...(view.runs.length === 0 ? ['No run yet.'] : ['Last runs:']),
    ...view.runs.map((run) => `  ${moment(run.at)}  ${runText(run)}`),
  ].join('\n');
}

/** Ten runs of a backfill come into the queue at a time: from then on more may follow than are there. */
export const queuedRuns = (queued: number): string => `${queued < 9 ? '' : 'at least '}${count(queued)}`;

/** What a pause does not hold; empty where there is nothing. */
export function queuedText({ name, queued }: ScheduleView): string {
  if (queued === 0) return '';
  const runs = `${queuedRuns(queued)} ${queued === 1 ? 'run' : 'runs'} of a backfill or trigger`;
  return `${runs}, begun one after the other even while it is paused; only searchflow schedule delete ${printable(name)} ends that`;
}

function costText({ work }: ScheduleView): string {
  if (work.workflow !== 'enrichCsv') return 'nothing: its calls are free';
  const { maxCostDollars } = work.input;
  return typeof maxCostDollars === 'number' ? `at most ${dollars(maxCostDollars * 1e6)}` : 'no bound';
}

/** A schedule for machines; times in ISO 8601, dollars in the summaries as they are there. */
export function scheduleData(view: ScheduleView): object {
  const { work, next, runs, ...rest } = view;
  return {
    ...rest,
    workflow: work.workflow,
    input: work.input,
    next: next.map(moment),
    runs: runs.map(({ at, ...run }) => ({ at: moment(at), ...run })),
  };
}
