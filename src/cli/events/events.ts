import type { Output } from '../../api/command-outputs.js';
import { eventTypes } from '../../core/events/payloads.js';
import type { WalkHeartbeat } from '../../core/events/walk-job.js';
import { inOneSentence, sentenceOf } from '../../core/rows/pause.js';
import type { InterruptedWalk } from '../../core/team-output-schemas.js';
import { DAY_MS } from '../../core/text/duration.js';
import { misspelt } from '../../core/text/nearest.js';
import type { Differences, Verification, WalkProgress, WalkSummary } from '../../core/workflow-result-schemas.js';
import type { ShownProgress } from '../../worker/config/runtime-types.js';
import type { EventStatus } from '../../worker/store/event-status.js';
import { meter, type ProgressReader, progressText, waitText } from '../progress/progress.js';
import { columns, count, duration, lines, printable, some } from '../text.js';

export type { InterruptedWalk } from '../../core/team-output-schemas.js';

/** The known event type that an unknown one certainly means; null for a known type and for another one. */
export const meantType = (type: string): string | null =>
  eventTypes.includes(type) ? null : misspelt(type, eventTypes);

/** Returns a time as ISO 8601, without zero milliseconds. */
const moment = (at: number | string) => new Date(at).toISOString().replace('.000Z', 'Z');
const ageText = (at: number | string, now: number) => duration(Math.max(0, (now - new Date(at).getTime()) / 1000));

export function walkText(summary: WalkSummary, now: number): string {
  const { events, added, changed, seconds, watermark, into, phase, message, verified } = summary;
  const read = `${some(events, 'event')} read in ${duration(seconds)}`;
  const newer = changed > 0 ? `, ${count(changed)} with newer contents` : '';
  const found = verified ? read : events === 0 ? 'no new events' : `${read}, ${count(added)} new${newer}`;
  return lines(
    phase === 'stopped' && `Stopped: ${printable(message ?? 'no reason given')}`,
    `${titleOf(summary.stream)}: ${found}.`,
    verified && verifiedLines(verified),
    watermark !== null && !verified && `Newest event loaded: ${moment(watermark)} (${ageText(watermark, now)} ago).`,
    `Warehouse: ${printable(into)}`,
  );
}

/** Returns the title of a summary: `Synced`, or `Backfilled` or `Verified` with the range. */
function titleOf(stream: string): string {
  const [kind, range = '', types] = stream.split(' ');
  const only = types === undefined ? '' : ` (${printable(types.replaceAll(',', ', '))})`;
  if (kind === 'sync') return `Synced${range === '' ? '' : ` (${printable(range)})`}`;
  return `${kind === 'verify' ? 'Verified' : 'Backfilled'} ${spanText(range)}${only}`;
}

/** Returns the range in a stream's name as `2025-01-01 to 2025-01-31`. */
function spanText(range: string): string {
  const [from = '', until = ''] = range.split('..');
  return `${short(from)} to ${until === '' ? 'a minute ago' : endOf(until)}`;
}

function short(iso: string): string {
  return printable(iso === '' ? 'the beginning' : iso.replace('T00:00:00.000Z', '').replace('.000Z', 'Z'));
}

/** Returns the end of a range in the form of `--until`: midnight becomes the day before. */
function endOf(iso: string): string {
  if (!iso.endsWith('T00:00:00.000Z')) return short(iso);
  return short(new Date(Date.parse(iso) - DAY_MS).toISOString());
}

function verifiedLines({ missing, changed, gone, days }: Verification): string[] {
  if (missing + changed + gone === 0) return ['The warehouse matches the service: same events, same contents.'];
  const rows: [number, string][] = [
    [missing, 'missing; loaded now'],
    [changed, 'changed; updated now'],
    [gone, 'gone: no longer returned by the service; kept'],
  ];
  const table = columns([
    ['day', 'missing', 'changed', 'gone'],
    ...days.map((day) => [day.day, count(day.missing), count(day.changed), count(day.gone)]),
  ]);
  return [
    ...rows.filter(([events]) => events > 0).map(([events, what]) => `${count(events).padStart(9)}  ${what}`),
    ...table.map((line) => `  ${line}`),
    'See table event_checks for the ids of these events.',
  ];
}

export function differs({ missing, changed, gone }: Differences): boolean {
  return missing + changed + gone > 0;
}

interface RunningWalk extends ShownProgress<WalkProgress, WalkHeartbeat> {
  readonly job: string | null;
}

export function runningText({ job, progress, running }: RunningWalk): string {
  const { phase, pausedFor } = progress;
  const message = sentenceOf(progress);
  const shown = progressText(walkProgress().line(0, progress, running, null));
  const why = pausedFor === null ? '' : ` (${pausedFor})`;
  return `${printable(job ?? progress.stream)}: ${phase}${why}, ${shown}${message === null ? '' : `\n  ${printable(message)}`}`;
}

/** Returns the status of events as text. If the warehouse cannot be read, the text has only the walks that are not running. */
export function statusText(
  { known, streams, types, events, interrupted, into }: Output<'eventStatus'>,
  now: number,
): string {
  const of = (stream: string) => interrupted.find((one) => one.stream === stream);
  return lines(
    interrupted
      .filter(({ stream }) => !streams.some((one) => one.stream === stream))
      .map((one) => [`${printable(one.job ?? one.stream)}: ${one.state}`, interruptedLines(one, '  ')]),
    known && [
      `Warehouse: ${printable(into)}`,
      streams.map((stream) => streamLines(stream, of(stream.stream), now)),
      `${some(events, 'event')} of ${some(types.length, 'type')}:`,
      columns([
        ['type', 'events', 'latest'],
        ...types.map((one) => [
          `${printable(one.type, 80)}${one.known ? '' : ' (unknown)'}`,
          count(one.events),
          one.latest === null ? '-' : moment(one.latest),
        ]),
      ]).map((line) => `  ${line}`),
    ],
  );
}

function interruptedLines({ state, message, resumeText }: InterruptedWalk, indent: string): string[] {
  if (state === 'done') return [];
  const why = state === 'interrupted' ? 'no server or worker answers for it' : message;
  return [
    ...(why === null ? [] : [`${indent}reason: ${printable(why, 1000)}`]),
    `${indent}to resume: ${resumeText === null ? 'start its workflow again with the same input' : printable(resumeText, 1000)}`,
  ];
}

type Stream = Output<'eventStatus'>['streams'][number];

function streamLines(of: Stream, interrupted: InterruptedWalk | undefined, now: number): string {
  const { stream, kind, watermark, completedAt, to, windows, windowsLeft, share, events } = of;
  const isUnfinished = windowsLeft > 0;
  const [, range = '', ...types] = stream.split(' ');
  const name = kind === 'sync' ? stream : [kind, spanText(range), ...types].join(' ');
  // Share of the range that finished windows cover. The length of a sync is unknown before the first page.
  const part = share === null || share === 0 ? '' : ` (${Math.floor(share * 100)}% of its time)`;
  // After an unfinished window newer events may be loaded already.
  const [what, none] = isUnfinished ? ['complete up to', 'none yet'] : ['newest event loaded', 'none'];
  const lag = watermark === null ? none : `${moment(watermark)} (lag ${ageText(watermark, now)})`;
  const upTo = isUnfinished || to === null ? '' : `, up to ${moment(to)}`;
  return lines(
    `${printable(name)}:`,
    isUnfinished && [
      `  ${interrupted?.state ?? 'running'}: ${windows - windowsLeft} of ${some(windows, 'window')} done${part}, ${some(events, 'event')} read`,
      interrupted && interruptedLines(interrupted, '    '),
    ],
    (kind === 'sync' || !isUnfinished) && `  ${what}: ${lag}`,
    completedAt !== null && `  last complete run: ${ageText(completedAt, now)} ago${upTo}`,
    completedAt === null && !isUnfinished && '  no complete run yet',
  );
}

/**
 * Returns the status as JSON fields: durations in seconds. `held`: null if the warehouse cannot be read, for the reason in `missing`, so only
 * the states of walks are known.
 */
export function statusData(
  held: EventStatus | null,
  running: readonly RunningWalk[],
  about: Pick<Output<'eventStatus'>, 'missing' | 'interrupted' | 'into' | 'origin'>,
  now: number,
): Output<'eventStatus'> {
  const { streams = [], types = [] } = held ?? {};
  const since = (at: number | null) => (at === null ? null : Math.max(0, Math.round((now - at) / 1000)));
  return {
    kind: 'events',
    known: held !== null,
    ...about,
    running: running.map(({ job, progress }) => ({ job, ...inOneSentence(progress) })),
    events: types.reduce((sum, one) => sum + one.events, 0),
    streams: streams.map(({ pending, lengthMs: _, ...one }) => ({
      ...one,
      kind: one.stream.split(' ', 1)[0] ?? '',
      lagSeconds: since(one.watermark),
      completedSecondsAgo: since(one.completedAt),
      windowsLeft: pending.length,
    })),
    types,
  };
}

export function walkProgress(): ProgressReader<WalkProgress, WalkHeartbeat> {
  const { count: counted, most, pace } = meter();
  return {
    line(at, progress, running, blocked) {
      const events = counted('events', progress.events, running);
      const added = counted('added', progress.added, running);
      const changed = counted('changed', progress.changed, running);
      const { share, lengthMs = 0, phase } = progress;
      const covered = running.reduce((sum, one) => sum + (one.coveredMs ?? 0), 0);
      const now = Math.min(1, (share ?? 0) + (lengthMs > 0 ? covered / lengthMs : 0));
      // The share falls if the range grows.
      const part = share === null ? null : most(`part of ${lengthMs}`, now);
      return {
        part,
        facts: [
          some(events, 'event'),
          ...pace(at, 'events', events, part, phase === 'running' && blocked === null),
          ...(added + changed < events ? [`${count(added)} new`] : []),
        ],
        alarm: null,
        notes: [],
        waits: waitText(progress, running, blocked, 'listing events'),
      };
    },
  };
}
