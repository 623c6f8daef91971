import type { Output } from '../../api/outputs/index.js';
import { schemaChangesText } from '../../core/rows/schema-changes.js';
import { inputText } from '../../core/rows/source-fields.js';
import type { ScheduledRun } from '../../core/workflow-result-schemas.js';
import type { ScheduleView } from '../../worker/schedules/schedule-view.js';
import { columns, count, dollars, factLines, printable } from '../text.js';

/** Returns a time as `2026-11-21T06:00:00Z`. */
export const moment = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

/** Returns the result of a run in a few words. */
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

/** Returns a table of schedules. */
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

/** Returns a schedule with its last runs as text. */
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
  return typeof maxCostDollars === 'number' ? `at most ${dollars(maxCostDollars * 1e6)}` : 'no cap';
}

/** Returns a schedule as JSON fields. Times are in ISO 8601, costs in micro-dollars as in the summaries. */
export function scheduleData(view: ScheduleView): Output<'schedule'> {
  const { work, next, runs, ...rest } = view;
  return {
    ...rest,
    workflow: work.workflow,
    input: { ...work.input },
    next: next.map(moment),
    runs: runs.map(({ at, ...run }) => ({ at: moment(at), ...run })),
  };
}
